// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace cubinet {

// A file that the build embeds in the library (cmake/EmbedFiles.cmake).
struct EmbeddedFile {
  std::string_view name;
  const unsigned char* bytes;
  std::size_t size;

  std::string_view text() const { return {static_cast<const char*>(static_cast<const void*>(bytes)), size}; }
};

}  // namespace cubinet
