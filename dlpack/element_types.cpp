// SPDX-License-Identifier: Apache-2.0
#include <cubinet/cubinet.h>
#include <cubinet/dlpack/element_types.hpp>

namespace cubinet::dlpack {
namespace {

struct ElementType {
  const char* name;
  std::int32_t type;
  std::uint8_t code;
  std::uint8_t bits;
};

constexpr ElementType kTypes[] = {
    {"fp16", CUBINET_TYPE_FP16, kDLFloat, 16},        {"bf16", CUBINET_TYPE_BF16, kDLBfloat, 16},
    {"fp32", CUBINET_TYPE_FP32, kDLFloat, 32},        {"int32", CUBINET_TYPE_INT32, kDLInt, 32},
    {"e4m3", CUBINET_TYPE_E4M3, kDLFloat8_e4m3fn, 8}, {"uint32", CUBINET_TYPE_UINT32, kDLUInt, 32},
};

bool is_integer(std::int32_t type) {
  return type == CUBINET_TYPE_INT32 || type == CUBINET_TYPE_UINT32;
}

}  // namespace

std::int32_t type_named(std::string_view name) {
  for (const ElementType& each : kTypes)
    if (each.name == name) return each.type;
  return 0;
}

std::string type_names() {
  std::string names;
  for (const ElementType& each : kTypes)
    names += (names.empty() ? "" : ", ") + std::string(each.name);
  return names;
}

std::int32_t type_of(DLDataType type) {
  for (const ElementType& each : kTypes)
    if (each.code == type.code && each.bits == type.bits && type.lanes == 1) return each.type;
  return 0;
}

std::string name_of_type(std::int32_t type) {
  for (const ElementType& each : kTypes)
    if (each.type == type) return each.name;
  return "type " + std::to_string(type);
}

bool matches_type(DLDataType type, std::int32_t wanted) {
  if (type.lanes != 1) return false;
  for (const ElementType& each : kTypes)
    if (each.type == wanted && each.code == type.code && each.bits == type.bits) return true;
  if (is_integer(wanted)) return type.bits == 32 && (type.code == kDLInt || type.code == kDLUInt);
  return wanted == CUBINET_TYPE_E4M3 && type.bits == 8 && type.code == kDLUInt;
}

std::string name_of(DLDataType type) {
  for (const ElementType& each : kTypes)
    if (each.code == type.code && each.bits == type.bits && type.lanes == 1) return each.name;
  const char* const codes[] = {"int", "uint", "float"};
  const std::string code = type.code < 3 ? codes[type.code] : "code" + std::to_string(type.code) + "_";
  return code + std::to_string(type.bits) + (type.lanes == 1 ? "" : "x" + std::to_string(type.lanes));
}

}  // namespace cubinet::dlpack
