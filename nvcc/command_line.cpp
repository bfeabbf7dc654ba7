// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <algorithm>
#include <sstream>

namespace cubinet::nvcc {
namespace {

Error for_nvcc(std::string reason) {
  return Error{ErrorCode::unsupported, std::move(reason)};
}

// Adds the folders that the host's preprocessor searches, and so does nvcc. An empty entry is the
// working folder.
Result<void> add_folders_of(const EnvironmentVariables& environment, std::vector<std::string>& folders) {
  for (const std::string_view variable : {"DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES"}) {
    if (environment.find(variable))
      return for_nvcc("the environment sets " + std::string(variable) + ", and so a file is written");
  }
  for (const std::string_view variable : {"CPATH", "CPLUS_INCLUDE_PATH"}) {
    const auto list = environment.find(variable);
    if (!list) continue;
    for (std::size_t begin = 0; begin <= list->size();) {
      const std::size_t end = std::min(list->find(':', begin), list->size());
      folders.push_back(end == begin ? "." : list->substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return {};
}

Result<void> add_words(const EnvironmentVariables& environment, std::string_view variable,
                       std::vector<std::string>& arguments) {
  const std::string flags = environment.find(variable).value_or("");
  if (flags.find_first_of("\"'\\") != std::string::npos)
    return for_nvcc("`" + std::string(variable) + "` has a quote or a backslash");
  std::istringstream words(flags);
  for (std::string word; words >> word;)
    arguments.push_back(word);
  return {};
}

}  // namespace

Result<std::vector<std::string>> with_environment_flags(const std::vector<std::string>& arguments,
                                                        const EnvironmentVariables& environment) {
  std::vector<std::string> complete;
  CUBINET_TRY(add_words(environment, "NVCC_PREPEND_FLAGS", complete));
  complete.insert(complete.end(), arguments.begin(), arguments.end());
  CUBINET_TRY(add_words(environment, "NVCC_APPEND_FLAGS", complete));
  return complete;
}

bool requests_version(const std::vector<std::string>& arguments) {
  return arguments.size() == 1 && (arguments.front() == "--version" || arguments.front() == "-V");
}

Result<CompileLine> parse_command_line(const std::vector<std::string>& arguments,
                                       const EnvironmentVariables& environment) {
  CUBINET_TRY_ASSIGN(CompileLine line, parse_compile_line(arguments));
  CUBINET_TRY(add_folders_of(environment, line.include_directories));
  return line;
}

}  // namespace cubinet::nvcc
