// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/dlpack/dlpack.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace cubinet::dlpack {

// Returns the CUBINET_TYPE_ constant of a name such as "bf16", or 0 for an unknown one.
std::int32_t type_named(std::string_view name);
// Returns the names that type_named() knows, separated by commas.
std::string type_names();
// Returns the CUBINET_TYPE_ constant of a tensor's elements, or 0 if there is none.
std::int32_t type_of(DLDataType type);
// Returns the name of a CUBINET_TYPE_ constant.
std::string name_of_type(std::int32_t type);

// Returns whether elements of a tensor are of a CUBINET_TYPE_. Unsigned and signed integers of 32
// bits are the same, because frameworks lack operations on the unsigned ones; bytes are e4m3,
// because frameworks without an 8-bit float store it in them.
bool matches_type(DLDataType type, std::int32_t wanted);
// Returns the name of an element type for messages.
std::string name_of(DLDataType type);

}  // namespace cubinet::dlpack
