// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace cubinet {

// The element types of tensors. Attention uses the types up to e2m1. Stored in keys by name and in
// tables by value: DO NOT RENUMBER.
enum class DataType : std::uint8_t {
  fp16 = 0,
  bf16 = 1,
  fp32 = 2,
  int8 = 3,
  int32 = 4,
  e4m3 = 5,
  e5m2 = 6,
  e2m1 = 7,
  fp64 = 8,
  int16 = 9,
  int64 = 10,
  uint8 = 11,
  uint16 = 12,
  uint32 = 13,
  uint64 = 14,
};

std::string_view to_string(DataType type);                       // "bf16"
std::optional<DataType> parse_data_type(std::string_view name);  // nullopt for an unknown name
std::span<const DataType> all_data_types();
unsigned bits_of(DataType type);  // 4 for e2m1, 8, 16, 32 or 64

}  // namespace cubinet
