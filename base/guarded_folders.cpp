// SPDX-License-Identifier: Apache-2.0
#include "guarded_folders.hpp"

#include <cubinet/base/file_system.hpp>

#include <algorithm>
#include <optional>
#include <sys/stat.h>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

bool is_below(const fs::path& path, const fs::path& folder) {
  const std::string& text = path.native();
  const std::size_t length = folder.native().size();
  return text.size() > length && text[length] == '/' && text.starts_with(folder.native());
}

Result<Descriptor> enter(int above, const fs::path& name, int flags, const fs::path& path) {
  Descriptor folder = open_at(above, name, O_PATH | O_DIRECTORY | flags);
  if (folder.get() < 0 && errno == ENOTDIR)
    return Error{ErrorCode::untrusted, "'" + path.string() + "' is a link or a file instead of a folder",
                 "remove it"};
  struct stat info {};
  if (folder.get() < 0 || ::fstat(folder.get(), &info) != 0)
    return io_error("cannot open the folder '" + path.string() + "'", errno);
  FileStatus status;
  status.owner = info.st_uid;
  status.permissions = info.st_mode & 07777U;
  if (const char* reason = why_not_trusted(status))
    return Error{ErrorCode::untrusted, "'" + path.string() + "' " + reason};
  return folder;
}

}  // namespace

void GuardedFolders::add(const fs::path& folder) {
  const std::lock_guard lock(mutex_);
  if (std::find(folders_.begin(), folders_.end(), folder) == folders_.end()) folders_.push_back(folder);
}

Result<GuardedFolders::Place> GuardedFolders::place_of(const fs::path& path) const {
  std::optional<fs::path> guarded;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(folders_.begin(), folders_.end(),
                                    [&](const fs::path& folder) { return is_below(path, folder); });
    if (found != folders_.end()) guarded = *found;
  }
  if (!guarded) return Place{Descriptor(-1), path};
  auto root = enter(AT_FDCWD, *guarded, 0, *guarded);
  if (!root) {
    if (root.error().native != ENOENT) return std::move(root).error();
    return Error{ErrorCode::unavailable,
                 "'" + guarded->string() + "' was removed while it was in use",
                 "try again",
                 {},
                 ENOENT};
  }
  Place place{*std::move(root), {}};
  fs::path way = *guarded;
  for (const fs::path& part : fs::path(path.native().substr(guarded->native().size() + 1))) {
    if (part == "..")
      return Error{ErrorCode::invalid_argument, "'" + path.string() + "' leads out of its folder"};
    if (part.empty() || part == ".") continue;
    if (!place.name.empty()) {
      way /= place.name;
      CUBINET_TRY_ASSIGN(place.folder, enter(place.at(), place.name, O_NOFOLLOW, way));
    }
    place.name = part;
  }
  return place;
}

}  // namespace cubinet
