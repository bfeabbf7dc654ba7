// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conversions.hpp"

#include <cstdint>
#include <string>

namespace cubinet_python {

// Each returns an argument as a value of C++. Messages begin with `subject`, such as "'batch'".
// Raises TypeError for an object of another type, and what the object's own methods raise.
std::string argument_text(const std::string& subject, nanobind::handle object);
double argument_number(const std::string& subject, nanobind::handle object);
bool argument_flag(const std::string& subject, nanobind::handle object);
// Takes every object with __index__(). Raises InvalidArgument for more than 64 bits.
std::int64_t argument_integer(const std::string& subject, nanobind::handle object);

}  // namespace cubinet_python
