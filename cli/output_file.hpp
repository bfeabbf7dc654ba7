// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cubinet::cli {

// The files that an output must not replace: the verb's inputs, by any name, and everything in the
// homes.
struct ProtectedFiles {
  std::vector<std::string> inputs;
  std::vector<std::filesystem::path> homes;
};

// Whether a path lies in a folder, whatever links lead to either. False where the folder is not
// there.
Result<bool> lies_in(FileSystem& files, const std::filesystem::path& path,
                     const std::filesystem::path& folder);

// Where a result named by the user will be written by renaming over it: symbolic links are
// followed, also one to a file that is not there yet, so that the rename replaces the file and not
// the link. What cannot be written is refused before anything is computed: a folder, a device, a
// missing parent, a name that leaves no room for that of the temporary file. Returns the path to
// write.
Result<std::filesystem::path> check_output_file(FileSystem& files, const std::string& name,
                                                const ProtectedFiles& keep = {});

}  // namespace cubinet::cli
