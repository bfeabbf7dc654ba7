// SPDX-License-Identifier: Apache-2.0
#include "instruction.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace cubinet;

// The words are those that ptxas 13.0 made for sm_90a.
TEST_CASE("the operands of instructions that read a constant bank are found") {
  const Instruction uniform(0x0107c80000047ab9);  // ULDC.64 UR4, c[0x4][0x1f20]
  CHECK(uniform.may_read_bank(4));
  CHECK_FALSE(uniform.may_read_bank(3));
  CHECK(uniform.offset_in_bank() == 0x1f20);
  CHECK_FALSE(uniform.has_index());
  const Instruction load(0x01000a00ff187b82);  // LDC.64 R24, c[0x4][0x28]
  CHECK(load.may_read_bank(4));
  CHECK(load.offset_in_bank() == 0x28);
  CHECK_FALSE(load.has_index());
  CHECK(Instruction(0x0100000000027b82).has_index());  // LDC.64 R2, c[0x4][R0]
  const Instruction move(0x00001f6000007802);          // MOV R0, 0x1f60
  CHECK_FALSE(move.may_read_bank(4));
  CHECK(move.immediate() == 0x1f60);
}

TEST_CASE("instructions of one form differ in their operand alone") {
  const Instruction one(0x00001f6000007802);
  CHECK(one.has_form_of(Instruction(0x0000006000007802)));
  CHECK_FALSE(one == Instruction(0x0000006000007802));
  CHECK_FALSE(one.has_form_of(Instruction(0x00001f6000017802)));
}

TEST_CASE("numbers are little endian, and bytes behind the end count as 0") {
  const std::array<std::byte, 3> bytes = {std::byte{1}, std::byte{2}, std::byte{3}};
  CHECK(number_at(bytes, 0) == 0x030201);
  CHECK(number_at(bytes, 2) == 3);
  CHECK(number_at(bytes, 3) == 0);
}
