// SPDX-License-Identifier: Apache-2.0
#include "linked_parts.hpp"

#include <cubinet/base/text.hpp>

#include <algorithm>

namespace cubinet {
namespace {

constexpr std::size_t kMaximumLibraries = 1024;

// The option's name in parse_compiler_flags().
constexpr std::string_view kRelocatable = "relocatable-device-code";
constexpr std::string_view kLinkTimeOptimisation = "dlink-time-opt";

Error bad_library(const std::string& reason, std::string remedy = {}) {
  return Error{ErrorCode::invalid_argument, reason, std::move(remedy)};
}

}  // namespace

bool is_file_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaximumFileName && is_printable(name) &&
         name.find_first_of("/\\\"<>") == std::string_view::npos;
}

Result<void> check_library_names(const std::vector<std::string>& libraries) {
  if (libraries.size() > kMaximumLibraries) return bad_library("it has more than 1024 libraries");
  for (auto library = libraries.begin(); library != libraries.end(); ++library) {
    if (library->empty() || library->size() > kMaximumFileName || !is_printable(*library))
      return bad_library("'" + printable(library->substr(0, kMaximumFileName)) + "' is no library's name");
    if (library->find('/') != std::string::npos) {
      return bad_library("the library '" + *library + "' is named with its folder",
                         "name the file alone, and its folder with `CompileOptions::library_directories`");
    }
    if (std::find(libraries.begin(), library, *library) != library)
      return bad_library("the library '" + *library + "' is named twice");
  }
  return {};
}

void make_linkable(CompilerOptions& options) {
  if (!options.contains(kLinkTimeOptimisation)) options.insert_or_assign(std::string(kRelocatable), "true");
}

}  // namespace cubinet
