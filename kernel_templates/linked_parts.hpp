// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/spec/compiler_options.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// Checks of the sources and libraries that templates and programs are linked with.

inline constexpr std::size_t kMaximumFileName = 200;

// Returns whether a source or library may have this name: a file name without a folder.
bool is_file_name(std::string_view name);

// Returns invalid_argument for more than 1024 names, a wrong name and a repeated name.
Result<void> check_library_names(const std::vector<std::string>& libraries);

// Adds the option for relocatable code, which linking needs.
void make_linkable(CompilerOptions& options);

}  // namespace cubinet
