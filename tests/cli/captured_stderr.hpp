// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdio>
#include <string>
#include <unistd.h>

namespace cubinet::test {

// Returns the text that `write` writes to this process's stderr, which is redirected to a file
// meanwhile.
template <class Write>
std::string stderr_of(const Write& write) {
  std::FILE* const file = std::tmpfile();
  const int before = ::dup(STDERR_FILENO);
  ::dup2(::fileno(file), STDERR_FILENO);
  write();
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  std::rewind(file);
  std::string text;
  std::array<char, 4096> block{};
  for (std::size_t count = 0; (count = std::fread(block.data(), 1, block.size(), file)) > 0;)
    text.append(block.data(), count);
  std::fclose(file);
  return text;
}

}  // namespace cubinet::test
