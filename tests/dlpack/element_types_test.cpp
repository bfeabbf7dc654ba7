// SPDX-License-Identifier: Apache-2.0
#include <cubinet/cubinet.h>
#include <cubinet/dlpack/element_types.hpp>

#include <doctest/doctest.h>

using namespace cubinet::dlpack;

TEST_CASE("each type has one name, one constant and one form in DLPack") {
  const std::pair<const char*, DLDataType> types[] = {
      {"fp16", {kDLFloat, 16, 1}}, {"bf16", {kDLBfloat, 16, 1}},       {"fp32", {kDLFloat, 32, 1}},
      {"int32", {kDLInt, 32, 1}},  {"e4m3", {kDLFloat8_e4m3fn, 8, 1}}, {"uint32", {kDLUInt, 32, 1}},
  };
  for (const auto& [name, type] : types) {
    const std::int32_t constant = type_named(name);
    CHECK(constant != 0);
    CHECK(type_of(type) == constant);
    CHECK(name_of_type(constant) == name);
    CHECK(name_of(type) == name);
    CHECK(matches_type(type, constant));
    CHECK_FALSE(matches_type({type.code, type.bits, 2}, constant));
  }
  CHECK(type_named("bf15") == 0);
  CHECK(type_of({kDLFloat, 64, 1}) == 0);
  CHECK(name_of({kDLFloat, 64, 1}) == "float64");
  CHECK(name_of({kDLFloat, 32, 4}) == "float32x4");
  CHECK(name_of({17, 4, 1}) == "code17_4");
  CHECK(type_names() == "fp16, bf16, fp32, int32, e4m3, uint32");
}

TEST_CASE("integers of both signs are one type, and bytes may be e4m3") {
  CHECK(matches_type({kDLInt, 32, 1}, CUBINET_TYPE_UINT32));
  CHECK(matches_type({kDLUInt, 32, 1}, CUBINET_TYPE_INT32));
  CHECK_FALSE(matches_type({kDLInt, 64, 1}, CUBINET_TYPE_INT32));
  CHECK(matches_type({kDLUInt, 8, 1}, CUBINET_TYPE_E4M3));
  CHECK_FALSE(matches_type({kDLInt, 8, 1}, CUBINET_TYPE_E4M3));
  CHECK_FALSE(matches_type({kDLFloat, 16, 1}, CUBINET_TYPE_BF16));
}
