// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/spec/compiler_options.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// What templates and programs say of the sources and libraries that are linked with them.

inline constexpr std::size_t kMaximumFileName = 200;

// Whether sources and libraries may be called so: a file's name, without a folder.
bool is_file_name(std::string_view name);

// invalid_argument for more than 1024, for one that cannot be a library's name, and for one that stands there
// twice.
Result<void> check_library_names(const std::vector<std::string>& libraries);

// What is linked with others has to be made for that, whether somebody says so or not.
void make_linkable(CompilerOptions& options);

}  // namespace cubinet
