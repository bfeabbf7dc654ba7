// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cubinet {

// A UTF-8 character. `bytes` is 0 if the text does not begin with one.
struct Utf8Character {
  std::uint32_t value = 0;
  std::size_t bytes = 0;
};

// Returns the character that the text begins with. REQUIRES: the text is not empty.
Utf8Character first_character(std::string_view text);

// Returns true for characters that drive a terminal, reorder or split a line, or are invisible: C0,
// DEL and C1, line separators, bidirectional controls, joiners, tags.
bool is_hidden(std::uint32_t character);

}  // namespace cubinet
