// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <algorithm>
#include <sstream>

namespace cubinet::nvcc {
namespace {

Error for_nvcc(std::string reason) {
  return Error{ErrorCode::unsupported, std::move(reason)};
}

// Returns the folders that a variable lists. An empty entry is the working folder.
std::vector<std::string> folders_of(const EnvironmentVariables& environment, std::string_view variable) {
  std::vector<std::string> folders;
  const auto list = environment.find(variable);
  if (!list) return folders;
  for (std::size_t begin = 0; begin <= list->size();) {
    const std::size_t end = std::min(list->find(':', begin), list->size());
    folders.push_back(end == begin ? "." : list->substr(begin, end - begin));
    begin = end + 1;
  }
  return folders;
}

// nvcc adds what these variables have to the commands of its parts (nvcc.profile).
constexpr std::string_view kFlagVariables[] = {"INCLUDES", "SYSTEM_INCLUDES", "CUDAFE_FLAGS", "NVVM_FLAGS",
                                               "PTXAS_FLAGS"};

Result<void> check_flag_variables(const EnvironmentVariables& environment) {
  for (const std::string_view variable : kFlagVariables) {
    if (!environment.find(variable).value_or("").empty())
      return for_nvcc("the environment sets " + std::string(variable) + ", which nvcc adds to its commands");
  }
  return {};
}

// Adds the folders that the host's preprocessor searches, and so does nvcc: those of CPATH before
// the line's system folders, those of CPLUS_INCLUDE_PATH after them.
Result<void> add_folders_of(const EnvironmentVariables& environment, CompileLine& line) {
  for (const std::string_view variable : {"DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES"}) {
    if (environment.find(variable))
      return for_nvcc("the environment sets " + std::string(variable) + ", and so a file is written");
  }
  std::vector<std::string>& folders = line.include_directories;
  const std::vector<std::string> usual = folders_of(environment, "CPATH");
  const std::vector<std::string> system = folders_of(environment, "CPLUS_INCLUDE_PATH");
  folders.insert(folders.end() - static_cast<std::ptrdiff_t>(line.system_directories), usual.begin(),
                 usual.end());
  folders.insert(folders.end(), system.begin(), system.end());
  line.system_directories += system.size();
  return {};
}

Result<void> add_words(const EnvironmentVariables& environment, std::string_view variable,
                       std::vector<std::string>& arguments) {
  const std::string flags = environment.find(variable).value_or("");
  if (flags.find_first_of("\"'\\\n\r\v\f") != std::string::npos)
    return for_nvcc("`" + std::string(variable) + "` has a quote, a backslash or several lines");
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
  CUBINET_TRY(check_flag_variables(environment));
  CUBINET_TRY_ASSIGN(CompileLine line, parse_compile_line(arguments));
  CUBINET_TRY(add_folders_of(environment, line));
  return line;
}

}  // namespace cubinet::nvcc
