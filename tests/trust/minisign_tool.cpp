// SPDX-License-Identifier: Apache-2.0
#include "minisign_tool.hpp"

#include "support/server_process.hpp"
#include "support/skip.hpp"
#include "support/temp_dir.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace cubinet::test {

bool has_minisign() {
  static const bool installed = find_program("minisign").has_value();
  if (!installed) skip("minisign is not installed");
  return installed;
}

bool minisign(const std::vector<std::string>& arguments, std::string_view input) {
  const TempDir folder;
  put(folder / "input", input);
  std::string line = "minisign";
  for (const std::string& argument : arguments)
    line += " '" + argument + "'";  // no test has a quote in a name
  line += " <'" + (folder / "input").string() + "' >/dev/null 2>&1";
  return std::system(line.c_str()) == 0;
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void put(const std::filesystem::path& file, std::string_view text) {
  std::ofstream(file, std::ios::binary) << text;
}

}  // namespace cubinet::test
