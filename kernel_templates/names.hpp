// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cubinet {

// [a-z][a-z0-9_]*, at most 64 characters, and no word of C++: it becomes an identifier of the generated
// header.
bool is_identifier(std::string_view text);

}  // namespace cubinet
