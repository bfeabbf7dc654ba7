// SPDX-License-Identifier: Apache-2.0
#include <cubinet/artifacts/artifact_folder.hpp>
#include <cubinet/base/file_system.hpp>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string_view>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaximumDepth = 32;
constexpr std::string_view kIncludeName = "include";

struct Contents {
  // Everything except folders. The type of a name is checked when it is opened.
  std::vector<std::string> files;
  std::vector<std::string> folders;
};

Result<Contents> list(const fs::path& path) {
  CUBINET_TRY_ASSIGN(Listing listing, posix_file_system()->list(path));
  Contents contents;
  std::set_difference(listing.names.begin(), listing.names.end(), listing.folders.begin(),
                      listing.folders.end(), std::back_inserter(contents.files));
  contents.folders = std::move(listing.folders);
  return contents;
}

bool has_header(const Contents& listing) {
  return std::any_of(listing.files.begin(), listing.files.end(), is_metadata_header);
}

bool has_cubin(const Contents& listing) {
  return std::any_of(listing.files.begin(), listing.files.end(),
                     [](std::string_view name) { return name.ends_with(".cubin"); });
}

class Finder {
 public:
  // Visits a folder. `owner` is the number of the artifact folder that contains `path`, `prefix`
  // its name there.
  void visit(const fs::path& path, const Contents& listing, std::size_t depth, std::size_t owner,
             std::string prefix) {
    // include/ is visited first: its header makes this folder an artifact folder.
    std::vector<std::pair<std::string, Contents>> children;
    for (const std::string& name : listing.folders) {
      if (depth == kMaximumDepth) {
        found_.unreadable.push_back({path / name, "it is more than 32 folders deep"});
        continue;
      }
      auto child = list(path / name);
      if (child) {
        children.emplace_back(name, *std::move(child));
      } else {
        found_.unreadable.push_back({path / name, child.error().message});
      }
    }
    if (is_artifact_folder(path, listing, children, depth, owner)) {
      owner = found_.folders.size();
      prefix.clear();
      found_.folders.emplace_back().path = path;
    }
    if (owner != kNone) add_files(listing, prefix, found_.folders[owner]);
    for (const auto& [name, child] : children) {
      visit(path / name, child, depth + 1, owner, prefix + name + "/");
    }
  }

  ArtifactFolders take() {
    for (ArtifactFolder& folder : found_.folders) {
      for (auto* names : {&folder.headers, &folder.cubins, &folder.lock_files})
        std::sort(names->begin(), names->end());
    }
    std::sort(found_.folders.begin(), found_.folders.end(),
              [](const ArtifactFolder& a, const ArtifactFolder& b) { return a.path < b.path; });
    return std::move(found_);
  }

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

 private:
  static bool is_artifact_folder(const fs::path& path, const Contents& listing,
                                 const std::vector<std::pair<std::string, Contents>>& children,
                                 std::size_t depth, std::size_t owner) {
    if (std::binary_search(listing.files.begin(), listing.files.end(), kChecksumsName)) return true;
    if (has_header(listing) && (depth == 0 || path.filename() != kIncludeName)) return true;
    for (const auto& [name, child] : children) {
      if (name == kIncludeName && has_header(child)) return true;
    }
    return owner == kNone && has_cubin(listing);
  }

  static void add_files(const Contents& listing, const std::string& prefix, ArtifactFolder& folder) {
    for (const std::string& name : listing.files) {
      if (prefix.empty() && name == kChecksumsName) folder.has_checksums = true;
      if (is_metadata_header(name) && (prefix.empty() || prefix == "include/"))
        folder.headers.push_back(prefix + name);
      if (name.ends_with(".cubin")) folder.cubins.push_back(prefix + name);
      if (name.ends_with(".lock")) folder.lock_files.push_back(prefix + name);
    }
  }

  ArtifactFolders found_;
};

}  // namespace

bool is_metadata_header(std::string_view name) {
  return name.ends_with("MetaInfo.h");
}

Result<ArtifactFolders> find_artifact_folders(const fs::path& root) {
  std::error_code failure;
  const fs::path path = fs::canonical(root, failure);
  if (failure) {
    Error error = io_error("cannot find '" + root.string() + "'", failure.value(),
                           "name a folder of published cubins, or one that holds several");
    if (failure.value() == ENOENT || failure.value() == ENOTDIR) error.code = ErrorCode::not_found;
    return error;
  }
  if (!fs::is_directory(path, failure)) {
    return Error{ErrorCode::invalid_argument, "'" + root.string() + "' is no folder",
                 path.extension() == ".whl"
                     ? "unpack the wheel, `python3 -m zipfile -e FILE FOLDER`, and name that folder"
                     : "name a folder of published cubins, or one that holds several"};
  }
  CUBINET_TRY_ASSIGN(const Contents listing, list(path));
  Finder finder;
  finder.visit(path, listing, 0, Finder::kNone, {});
  return finder.take();
}

}  // namespace cubinet
