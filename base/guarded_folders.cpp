// SPDX-License-Identifier: Apache-2.0
#include "guarded_folders.hpp"

#include <cubinet/base/file_system.hpp>

#include <climits>

#include <algorithm>
#include <sys/stat.h>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinksOfFolder = 40;  // the limit of the Linux kernel

bool is_below(const fs::path& path, const fs::path& folder) {
  const std::string& text = path.native();
  const std::size_t length = folder.native().size();
  return text.size() > length && text[length] == '/' && text.starts_with(folder.native());
}

Error no_folder(const fs::path& path, std::string reason) {
  return {ErrorCode::untrusted, "'" + path.string() + "' " + std::move(reason), "remove it"};
}

FileStatus owner_of(const struct stat& info) {
  FileStatus status;
  status.owner = info.st_uid;
  status.permissions = info.st_mode & 07777U;
  return status;
}

// Opens a folder. `status` is that of the open folder.
Result<Descriptor> enter(int above, const fs::path& name, int flags, const fs::path& path,
                         FileStatus* status = nullptr) {
  Descriptor folder = open_at(above, name, O_PATH | O_DIRECTORY | flags);
  if (folder.get() < 0 && errno == ENOTDIR) return no_folder(path, "is a link or a file instead of a folder");
  struct stat info {};
  if (folder.get() < 0 || ::fstat(folder.get(), &info) != 0)
    return io_error("cannot open the folder '" + path.string() + "'", errno);
  if (info.st_nlink == 0) return io_error("cannot open the folder '" + path.string() + "'", ENOENT);
  if (status != nullptr) *status = owner_of(info);
  return folder;
}

// Opens a folder that only the user and root can write.
Result<Descriptor> enter_own(int above, const fs::path& name, int flags, const fs::path& path) {
  FileStatus status;
  CUBINET_TRY_ASSIGN(Descriptor folder, enter(above, name, flags, path, &status));
  if (const char* reason = why_not_trusted(status))
    return Error{ErrorCode::untrusted, "'" + path.string() + "' " + reason};
  return folder;
}

// Returns the target of an open link.
Result<fs::path> target_of(const Descriptor& link, const fs::path& path) {
  std::string target(PATH_MAX, '\0');
  const ssize_t length = ::readlinkat(link.get(), "", target.data(), target.size());
  if (length < 0) return io_error("cannot read the link '" + path.string() + "'", errno);
  target.resize(static_cast<std::size_t>(length));
  return fs::path(target);
}

// Opens the folder that a user has named. Its last component may be a link of this user or of root.
// Another user could exchange any other link at any time.
Result<Descriptor> open_named(const fs::path& named) {
  fs::path path = named;
  for (int links = 0; links < kMostLinksOfFolder; ++links) {
    Descriptor opened = open_at(AT_FDCWD, path, O_PATH | O_NOFOLLOW);
    struct stat info {};
    if (opened.get() < 0 || ::fstat(opened.get(), &info) != 0) {
      Error error = io_error("cannot open the folder '" + named.string() + "'", errno);
      if (error.native == ENOENT) error.code = ErrorCode::not_found;
      return error;
    }
    if (S_ISDIR(info.st_mode)) return opened;
    if (!S_ISLNK(info.st_mode)) return no_folder(path, "is a file instead of a folder");
    if (info.st_uid != 0 && info.st_uid != ::geteuid()) return no_folder(path, "is a link of another user");
    CUBINET_TRY_ASSIGN(const fs::path target, target_of(opened, path));
    path = path.parent_path() / target;
  }
  return no_folder(named, "is a link without an end");
}

}  // namespace

void GuardedFolders::guard(const fs::path& folder) {
  const std::lock_guard lock(mutex_);
  if (std::none_of(folders_.begin(), folders_.end(), [&](const Folder& each) { return each.path == folder; }))
    folders_.push_back({folder, nullptr});
}

Result<void> GuardedFolders::enclose(const fs::path& folder) {
  const fs::path named = folder.has_filename() ? folder : folder.parent_path();
  CUBINET_TRY_ASSIGN(Descriptor opened, open_named(named));
  const std::lock_guard lock(mutex_);
  std::erase_if(folders_, [&](const Folder& each) { return each.path == named; });
  folders_.push_back({named, std::make_shared<const Descriptor>(std::move(opened))});
  return {};
}

std::optional<GuardedFolders::Folder> GuardedFolders::folder_of(const fs::path& path) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(folders_.begin(), folders_.end(),
                                  [&](const Folder& folder) { return is_below(path, folder.path); });
  return found != folders_.end() ? std::optional(*found) : std::nullopt;
}

Result<GuardedFolders::Place> GuardedFolders::place_of(const fs::path& path) const {
  const auto outer = folder_of(path);
  if (!outer) return Place{Descriptor(-1), path};
  const bool enclosed = outer->opened != nullptr;
  auto root = enclosed ? enter(outer->opened->get(), ".", 0, outer->path)
                       : enter_own(AT_FDCWD, outer->path, 0, outer->path);
  if (!root) {
    if (root.error().native != ENOENT) return std::move(root).error();
    return Error{ErrorCode::unavailable,
                 "'" + outer->path.string() + "' was removed while it was in use",
                 "try again",
                 {},
                 ENOENT};
  }
  Place place{*std::move(root), {}};
  fs::path way = outer->path;
  for (const fs::path& part : fs::path(path.native().substr(outer->path.native().size() + 1))) {
    if (part == "..")
      return Error{ErrorCode::invalid_argument, "'" + path.string() + "' leads out of its folder"};
    if (part.empty() || part == ".") continue;
    if (!place.name.empty()) {
      way /= place.name;
      CUBINET_TRY_ASSIGN(place.folder, enclosed ? enter(place.at(), place.name, O_NOFOLLOW, way)
                                                : enter_own(place.at(), place.name, O_NOFOLLOW, way));
    }
    place.name = part;
  }
  return place;
}

}  // namespace cubinet
