// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <filesystem>

namespace cubinet {

// Returns an absolute path without empty, `.` and `..` parts. Keeps symbolic links, except before a
// `..`, which leads to the parent of the link's target as in the operating system. Errors:
// invalid_argument for a zero byte, io if a link before a `..` or the working directory cannot be
// read.
Result<std::filesystem::path> absolute_path(const std::filesystem::path& path);

}  // namespace cubinet
