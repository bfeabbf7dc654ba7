// SPDX-License-Identifier: Apache-2.0
#include <cubinet/spec/data_type.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

TEST_CASE("names and types map to each other one to one") {
  for (const DataType type : all_data_types())
    CHECK(parse_data_type(to_string(type)) == type);
  CHECK_FALSE(parse_data_type("float"));
  CHECK_FALSE(parse_data_type("BF16"));
}

TEST_CASE("stored values and sizes are fixed") {
  CHECK(static_cast<int>(DataType::fp16) == 0);
  CHECK(static_cast<int>(DataType::bf16) == 1);
  CHECK(static_cast<int>(DataType::fp32) == 2);
  CHECK(static_cast<int>(DataType::e4m3) == 5);
  CHECK(static_cast<int>(DataType::e2m1) == 7);
  CHECK(static_cast<int>(DataType::fp64) == 8);
  CHECK(static_cast<int>(DataType::uint64) == 14);
  CHECK(bits_of(DataType::e2m1) == 4);
  CHECK(bits_of(DataType::e4m3) == 8);
  CHECK(bits_of(DataType::bf16) == 16);
  CHECK(bits_of(DataType::fp32) == 32);
  CHECK(bits_of(DataType::fp64) == 64);
  CHECK(bits_of(DataType::uint16) == 16);
}

}  // namespace
}  // namespace cubinet
