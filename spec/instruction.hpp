// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <cstddef>
#include <cstdint>

namespace cubinet {

// Returns the little-endian number at the offset. Bytes behind the end count as 0.
inline std::uint64_t number_at(ByteView bytes, std::size_t offset) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof(number) && offset + i < bytes.size(); ++i)
    number |= std::to_integer<std::uint64_t>(bytes[offset + i]) << (8 * i);
  return number;
}

// The first half of an instruction of compute capability 7.0 and later, which has its operands. The
// fields were determined by compiling with ptxas 13.0 and 13.5 for sm_80, sm_90a, sm_100f and
// sm_120f.
class Instruction {
 public:
  static constexpr std::size_t kBytes = 16;
  static constexpr std::size_t kOperandBytes = 8;  // of these

  explicit Instruction(std::uint64_t operands) : operands_(operands) {}

  // Returns whether an operand may be in this constant bank. Bits 9 to 11 hold the form of the
  // operands: forms 3 and 5 have a constant operand, with the bank in bits 54 to 58.
  bool may_read_bank(unsigned bank) const {
    const std::uint64_t form = (operands_ >> 9U) & 7U;
    return (form == 3 || form == 5) && ((operands_ >> 54U) & 31U) == bank;
  }
  // The byte offset of a constant operand in its bank.
  std::uint64_t offset_in_bank() const { return (operands_ >> 38U) & 0xffffU; }
  // Returns whether a register is added to the offset. Only LDC has such an operand.
  bool has_index() const { return (operands_ & 0x1ffU) == 0x182U && ((operands_ >> 24U) & 0xffU) != 0xffU; }
  // The immediate operand, if there is one.
  std::uint64_t immediate() const { return operands_ >> 32U; }
  // Returns whether another instruction differs at most in the bits of a constant or immediate
  // operand.
  bool has_form_of(const Instruction& other) const { return ((operands_ ^ other.operands_) << 32U) == 0; }
  bool operator==(const Instruction&) const = default;

 private:
  std::uint64_t operands_;
};

}  // namespace cubinet
