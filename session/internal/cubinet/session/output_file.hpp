// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// The files that an output must not replace: the inputs, under any name, and everything in
// the homes.
struct ProtectedFiles {
  std::vector<std::string> inputs;
  std::vector<std::filesystem::path> homes;
};

// Returns whether a path is in a folder, with symbolic links of both resolved. Returns false if the
// folder does not exist.
Result<bool> lies_in(FileSystem& files, const std::filesystem::path& path,
                     const std::filesystem::path& folder);

// Returns the path to which an output that the user named is written by a rename. The links of its
// folders are followed. Call it before any work for the output: it refuses a symbolic link, which
// others may have put there, a folder, a device, a missing parent, and a name that leaves no room
// for the temporary file's name. The rename replaces a link that appears later.
Result<std::filesystem::path> check_output_file(FileSystem& files, const std::string& name,
                                                const ProtectedFiles& keep = {});

}  // namespace cubinet
