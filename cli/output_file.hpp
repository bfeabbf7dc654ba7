// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>

#include <filesystem>
#include <string>

namespace cubinet::cli {

// Where a result named by the user will be written by renaming over it: symbolic links are followed, so that
// the rename replaces the file and not the link; a folder, a device or a missing parent is refused before
// anything is computed. Returns the path to write.
Result<std::filesystem::path> check_output_file(FileSystem& files, const std::string& name);

}  // namespace cubinet::cli
