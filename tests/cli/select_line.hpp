// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tool.hpp"

#include <sstream>
#include <string>
#include <vector>

namespace cubinet::test {

inline std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> split;
  for (std::string word; stream >> word;)
    split.push_back(word);
  return split;
}

// `cubinet select attention --json` in the sandbox's home, with options that blanks separate.
inline ToolResult select_in(const Sandbox& sandbox, const std::string& options) {
  std::vector<std::string> line = {"select", "attention", "--json"};
  for (const std::string& word : words(options))
    line.push_back(word);
  return sandbox.run(line);
}

}  // namespace cubinet::test
