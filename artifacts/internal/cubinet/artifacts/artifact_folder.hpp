// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// A folder of published cubins, as it lies on the disk; nothing in it has been opened. All names are relative
// to it and ascending.
struct ArtifactFolder {
  std::filesystem::path path;           // absolute, without symbolic links
  bool has_checksums = false;           // a file checksums.txt
  std::vector<std::string> headers;     // metadata headers: *MetaInfo.h
  std::vector<std::string> cubins;      // *.cubin, whatever they are
  std::vector<std::string> lock_files;  // *.lock
};

struct UnreadableFolder {
  std::filesystem::path path;
  std::string reason;
};

struct ArtifactFolders {
  std::vector<ArtifactFolder> folders;  // ascending by path
  std::vector<UnreadableFolder> unreadable;
};

// The name of a folder's list of digests.
inline constexpr const char* kChecksumsName = "checksums.txt";

// Whether a file of this name is a metadata header. Published ones differ in the case of a letter:
// flashInferMetaInfo.h, flashinferMetaInfo.h.
bool is_metadata_header(std::string_view name);

// The artifact folders at and below `root`. A folder is one when it holds a checksums.txt, a metadata header
// (in itself or in its folder include/) or, outside of every other one, cubins; what lies in its sub-folders
// is part of it unless they are artifact folders themselves. Symbolic links to folders are not followed below
// `root`, so there are no loops; links to files are named like files. not_found when there is no `root`,
// invalid_argument when it is no folder, io when it cannot be read.
Result<ArtifactFolders> find_artifact_folders(const std::filesystem::path& root);

}  // namespace cubinet
