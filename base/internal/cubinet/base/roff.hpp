// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace cubinet {

// Returns text that roff prints as it is, in ASCII, because roff reads other bytes as Latin-1. A
// line that begins with a dot or a quote would be a request.
std::string roff_escaped(std::string_view text);
// Return the same in another font.
std::string roff_bold(std::string_view text);
std::string roff_italic(std::string_view text);

}  // namespace cubinet
