// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// A folder of published cubins on the disk. Nothing in it has been opened. All names are relative
// to it and ascending.
struct ArtifactFolder {
  std::filesystem::path path;           // absolute, without symbolic links
  bool has_checksums = false;           // true if there is a checksums.txt
  std::vector<std::string> headers;     // metadata headers: *MetaInfo.h
  std::vector<std::string> cubins;      // *.cubin, with any content
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

// The file name of a folder's list of digests.
inline constexpr const char* kChecksumsName = "checksums.txt";

// Returns whether a file of this name is a metadata header. Published names differ in case:
// flashInferMetaInfo.h, flashinferMetaInfo.h.
bool is_metadata_header(std::string_view name);

// Returns the artifact folders at and below `root`. A folder is one if it contains a checksums.txt,
// a metadata header (directly or in include/) or, outside of any other artifact folder, cubins. Its
// subfolders are part of it unless they are artifact folders themselves. Symbolic links to folders
// are not followed below `root`, so there are no loops. Links to files are listed like files.
// Returns not_found if `root` does not exist, invalid_argument if it is not a folder, io if it
// cannot be read.
Result<ArtifactFolders> find_artifact_folders(const std::filesystem::path& root);

}  // namespace cubinet
