# SPDX-License-Identifier: Apache-2.0
"""Tensors on a device that is not there: a type with DLPack's exchange table, as PyTorch's has it."""
import ctypes

TYPES = {"float16": (2, 16), "bfloat16": (4, 16), "float32": (2, 32), "int32": (0, 32), "uint32": (1, 32),
         "uint8": (1, 8), "float8_e4m3fn": (10, 8), "float64": (2, 64)}


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


BORROW = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
CURRENT_STREAM = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class ExchangeTable(ctypes.Structure):
    pass


ExchangeTable._fields_ = [
    ("major", ctypes.c_uint32),
    ("minor", ctypes.c_uint32),
    ("previous", ctypes.POINTER(ExchangeTable)),
    ("allocate", ctypes.c_void_p),
    ("export_tensor", ctypes.c_void_p),
    ("import_tensor", ctypes.c_void_p),
    ("borrow_tensor", BORROW),
    ("current_stream", CURRENT_STREAM),
]


@BORROW
def _borrow(tensor, target):
    ctypes.pointer(target.contents)[0] = tensor.described
    return 0


_current = {"stream": 0}


@CURRENT_STREAM
def _current_stream(_type, _device, stream):
    stream[0] = _current["stream"]
    return 0


def set_current_stream(stream):
    """Sets what the library of these tensors calls its current stream."""
    _current["stream"] = stream


def capsule(table):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(table), b"dlpack_exchange_api", None)


TABLE = ExchangeTable(1, 3, None, None, None, None, _borrow, _current_stream)


class Tensor:
    """A tensor of this shape at an address that nothing reads. Strides are in elements."""

    __dlpack_c_exchange_api__ = capsule(TABLE)

    def __init__(self, shape, dtype="bfloat16", address=1 << 30, device=(2, 0), strides=None):
        self.shape = tuple(shape)
        if strides is None:
            strides, step = [], 1
            for extent in reversed(self.shape):
                strides.insert(0, step)
                step *= extent
        count = len(self.shape)
        self.strides = tuple(strides)
        code, bits = TYPES[dtype]
        self.described = DLTensor(address, *device, count, code, bits, 1, (ctypes.c_int64 * count)(*self.shape),
                                  (ctypes.c_int64 * count)(*self.strides), 0)
