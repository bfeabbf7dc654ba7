// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubinet.h>

#include <string>
#include <string_view>

namespace cubinet_python {

inline cubinet_string to_c(std::string_view text) {
  return {text.data(), text.size()};
}

inline std::string_view view_of(cubinet_string text) {
  return {text.data, text.size};
}

// Returns the bytes of a text of the C library and releases it.
inline std::string take_text(cubinet_text* text) {
  std::string bytes(view_of(cubinet_text_get(text)));
  cubinet_text_release(text);
  return bytes;
}

}  // namespace cubinet_python
