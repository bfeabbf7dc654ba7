# SPDX-License-Identifier: Apache-2.0
"""Compares the machine code of two cubins of one source."""
import struct

INSTRUCTION = 16
CONSTANTS, ADDRESSES = 3, 4  # the banks of __constant__ variables and of the addresses of variables
SYMBOL_TABLE, RELOCATIONS = 2, 4  # section types
VARIABLE = 1  # symbol type


class Cubin:
    def __init__(self, image):
        offset, = struct.unpack_from("<Q", image, 40)
        size, count, names = struct.unpack_from("<HHH", image, 58)
        headers = [struct.unpack_from("<IIQQQQIIQQ", image, offset + i * size) for i in range(count)]

        def text(table, at):
            begin = headers[table][4] + at
            return image[begin:image.index(b"\0", begin)].decode()

        self.sections = [(text(names, header[0]), image[header[4]:header[4] + header[5]] if header[1] != 8 else b"")
                         for header in headers]
        self.functions = {name: content for name, content in self.sections if name.startswith(".text.")}
        symbols = []
        for header in headers:
            if header[1] == SYMBOL_TABLE:
                for at in range(header[4], header[4] + header[5], 24):
                    name, info, _, section, value, length = struct.unpack_from("<IBBHQQ", image, at)
                    symbols.append((text(header[6], name), info & 15, section, value, length))
        self.variables = sum(kind == VARIABLE and section != 0 for _, kind, section, _, _ in symbols)
        self.addresses = {}
        for header, (name, content) in zip(headers, self.sections):
            if header[1] == RELOCATIONS and name == ".rela.nv.constant4":
                for slot, info, addend in struct.iter_unpack("<QQq", content):
                    self.addresses[slot] = (symbols[info >> 32][0], addend)
        self.constants = [(value, length, name) for name, kind, section, value, length in symbols
                          if kind == VARIABLE and 0 < section < count and self.sections[section][0] == ".nv.constant3"]

    def target(self, bank, offset):
        """The variable that an operand in a constant bank means."""
        if bank == ADDRESSES:
            return self.addresses.get(offset)
        return next(((name, offset - value) for value, length, name in self.constants if value <= offset < value + length), None)


def same_instruction(one, first, two, second):
    if one == two:
        return True
    if one[:4] != two[:4] or one[8:] != two[8:]:
        return False
    words = [int.from_bytes(each[:8], "little") for each in (one, two)]
    banks = [word >> 54 & 31 for word in words]
    if all(word >> 9 & 7 in (3, 5) for word in words) and banks[0] == banks[1] and banks[0] in (CONSTANTS, ADDRESSES):
        targets = [each.target(banks[0], word >> 38 & 0xffff) for word, each in zip(words, (first, second))]
    else:  # a slot's number as an immediate, for an index register
        targets = [each.target(ADDRESSES, word >> 32) for word, each in zip(words, (first, second))]
    return targets[0] is not None and targets[0] == targets[1]


def same_code(image, other):
    """Whether all functions have the same instructions, up to the numbering of variables in the constant banks."""
    first, second = Cubin(image), Cubin(other)
    if first.functions.keys() != second.functions.keys():
        return False
    for name, code in first.functions.items():
        there = second.functions[name]
        if len(code) != len(there):
            return False
        if not all(same_instruction(code[at:at + INSTRUCTION], first, there[at:at + INSTRUCTION], second)
                   for at in range(0, len(code), INSTRUCTION)):
            return False
    return True
