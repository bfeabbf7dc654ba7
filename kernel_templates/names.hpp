// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// [a-z][a-z0-9_]*, at most 64 characters, and no word of C++: it becomes an identifier of the generated
// header.
bool is_identifier(std::string_view text);

// The names in the order of their edit distance to `wanted`, equal ones in byte order.
std::vector<std::string> nearest_first(std::vector<std::string> names, std::string_view wanted);

// "a, b, c".
std::string join(const std::vector<std::string>& parts, std::string_view separator);

// What came from outside, fit for a message: shortened, control characters replaced.
std::string printable(std::string_view text);

}  // namespace cubinet
