// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "file_store.hpp"

#include <cstdint>
#include <filesystem>

namespace cubinet {

// Nobody writes one file for longer than an hour, so what is older was left by a process that died.
bool is_left_over(const FileStatus& status);
// The name of a file that is being written, or was left while it was.
bool is_temporary(const std::filesystem::path& path);
// A file that has no business where it is: any but a temporary one that may still be written.
Result<bool> is_stray(const FileStore& store, const std::filesystem::path& path);

// Removes what interrupted writes left in a folder of one or two levels. Returns the bytes freed.
Result<std::uint64_t> remove_left_overs(FileStore& store, const std::filesystem::path& folder);

}  // namespace cubinet
