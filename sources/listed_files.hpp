// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>
#include <cubinet/sources/source_manifest.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace cubinet {

// The largest manifest and the largest file that one lists, in bytes.
inline constexpr std::uint64_t kMaximumListedBytes = std::uint64_t{16} << 20;

// Returns the manifests of a folder, ascending by path: the files at any depth up to 32 whose names
// end in "manifest.json". Links are not followed.
Result<std::vector<std::filesystem::path>> find_manifests(FileSystem& files,
                                                          const std::filesystem::path& folder);

// Returns the folder that the paths of a manifest begin at: of the folders from the manifest's up
// to `folder`, the first that has the first listed file. Returns not_found if none has it.
Result<std::filesystem::path> base_of(FileSystem& files, const std::filesystem::path& manifest_file,
                                      const std::filesystem::path& folder, const SourceManifest& manifest);

// Reads a listed file below the folder. Returns not_found if it is missing, untrusted if a part of
// its path is a link, and corruption if its SHA-256 differs.
Result<Bytes> read_listed(FileSystem& files, const std::filesystem::path& base, const SourceFile& file);

}  // namespace cubinet
