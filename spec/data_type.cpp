// SPDX-License-Identifier: Apache-2.0
#include <cubinet/spec/data_type.hpp>

#include <array>

namespace cubinet {
namespace {

struct Row {
  DataType type;
  std::string_view name;
  unsigned bits;
};

constexpr std::array<Row, 15> kRows = {{
    {DataType::fp16, "fp16", 16},
    {DataType::bf16, "bf16", 16},
    {DataType::fp32, "fp32", 32},
    {DataType::int8, "int8", 8},
    {DataType::int32, "int32", 32},
    {DataType::e4m3, "e4m3", 8},
    {DataType::e5m2, "e5m2", 8},
    {DataType::e2m1, "e2m1", 4},
    {DataType::fp64, "fp64", 64},
    {DataType::int16, "int16", 16},
    {DataType::int64, "int64", 64},
    {DataType::uint8, "uint8", 8},
    {DataType::uint16, "uint16", 16},
    {DataType::uint32, "uint32", 32},
    {DataType::uint64, "uint64", 64},
}};

constexpr auto kAll = [] {
  std::array<DataType, kRows.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = kRows[i].type;
  return all;
}();

const Row& row_of(DataType type) {
  return kRows[static_cast<std::size_t>(type)];
}

}  // namespace

std::string_view to_string(DataType type) {
  return row_of(type).name;
}

std::optional<DataType> parse_data_type(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.type;
  }
  return std::nullopt;
}

std::span<const DataType> all_data_types() {
  return kAll;
}

unsigned bits_of(DataType type) {
  return row_of(type).bits;
}

}  // namespace cubinet
