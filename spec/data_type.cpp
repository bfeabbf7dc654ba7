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

constexpr std::array<Row, 8> kRows = {{
    {DataType::fp16, "fp16", 16},
    {DataType::bf16, "bf16", 16},
    {DataType::fp32, "fp32", 32},
    {DataType::int8, "int8", 8},
    {DataType::int32, "int32", 32},
    {DataType::e4m3, "e4m3", 8},
    {DataType::e5m2, "e5m2", 8},
    {DataType::e2m1, "e2m1", 4},
}};

constexpr std::array<DataType, 8> kAll = {DataType::fp16,  DataType::bf16, DataType::fp32, DataType::int8,
                                          DataType::int32, DataType::e4m3, DataType::e5m2, DataType::e2m1};

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
