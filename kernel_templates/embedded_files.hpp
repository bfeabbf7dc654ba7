// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace cubinet {

// A file that the build embeds in the library (cmake/EmbedFiles.cmake).
struct EmbeddedFile {
  std::string_view name;
  const unsigned char* bytes;
  std::size_t size;

  std::string_view text() const { return {static_cast<const char*>(static_cast<const void*>(bytes)), size}; }
};

std::span<const EmbeddedFile> embedded_template_files();  // templates and bases, by file name
std::span<const EmbeddedFile> embedded_header_files();    // headers, by the name that #include gives

}  // namespace cubinet
