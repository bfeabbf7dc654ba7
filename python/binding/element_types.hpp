// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dlpack.hpp"

#include <cstdint>
#include <string>

namespace cubinet_python {

// Returns the CUBINET_TYPE_ constant of a name such as "bf16". Raises InvalidArgument, with the
// argument's name, for an unknown one.
std::int32_t type_of(const std::string& name, const char* argument);
// Returns the name of a CUBINET_TYPE_ constant.
std::string name_of_type(std::int32_t type);

// Returns whether elements of a tensor are of a CUBINET_TYPE_. Unsigned and signed integers of 32
// bits are the same, because frameworks lack operations on the unsigned ones; bytes are e4m3,
// because frameworks without an 8-bit float store it in them.
bool matches_type(DLDataType type, std::int32_t wanted);
// Returns the name of an element type for messages.
std::string name_of(DLDataType type);

}  // namespace cubinet_python
