// SPDX-License-Identifier: Apache-2.0
#include "listed_files.hpp"

#include <cubinet/base/text.hpp>

#include <algorithm>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

constexpr int kMaximumDepth = 32;
constexpr std::string_view kManifestEnding = "manifest.json";

Result<void> add_manifests(FileSystem& files, const fs::path& folder, int depth,
                           std::vector<fs::path>& found) {
  CUBINET_TRY_ASSIGN(const Listing listing, files.list(folder));
  for (const std::string& name : listing.names) {
    if (!name.ends_with(kManifestEnding)) continue;
    CUBINET_TRY_ASSIGN(const auto status, files.status(folder / name));
    if (status && status->type == FileStatus::Type::regular) found.push_back(folder / name);
  }
  for (const std::string& name : listing.folders) {
    if (depth < kMaximumDepth) CUBINET_TRY(add_manifests(files, folder / name, depth + 1, found));
  }
  return {};
}

std::string shown_path(const std::string& path) {
  return "'" + printable(path, kQuotedBytes) + "'";
}

}  // namespace

Result<std::vector<fs::path>> find_manifests(FileSystem& files, const fs::path& folder) {
  std::vector<fs::path> found;
  CUBINET_TRY(add_manifests(files, folder, 1, found));
  std::sort(found.begin(), found.end());
  return found;
}

Result<fs::path> base_of(FileSystem& files, const fs::path& manifest_file, const fs::path& folder,
                         const SourceManifest& manifest) {
  const std::string& first = manifest.files.front().path;
  for (fs::path base = manifest_file.parent_path();; base = base.parent_path()) {
    CUBINET_TRY_ASSIGN(const auto status, files.status(base / first));
    if (status) return base;
    if (base == folder || base == base.parent_path()) break;
  }
  return Error{ErrorCode::not_found,
               shown_path(first) + " is in none of the folders from the manifest's to '" +
                   printable(folder.string()) + "'",
               "name the folder that its listed paths begin at, or one above it"};
}

Result<Bytes> read_listed(FileSystem& files, const fs::path& base, const SourceFile& file) {
  fs::path path = base;
  for (const fs::path& part : fs::path(file.path)) {
    path /= part;
    CUBINET_TRY_ASSIGN(const auto status, files.status(path));
    if (!status) return Error{ErrorCode::not_found, shown_path(file.path) + " is missing"};
    if (status->type == FileStatus::Type::symlink)
      return Error{ErrorCode::untrusted, shown_path(file.path) + " is reached by a symbolic link",
                   "copy the file itself into the folder"};
  }
  CUBINET_TRY_ASSIGN(Bytes content, files.read(path, kMaximumListedBytes));
  if (sha256(content) != file.digest)
    return Error{ErrorCode::corruption,
                 shown_path(file.path) + " has another SHA-256 than the manifest states"};
  return content;
}

}  // namespace cubinet
