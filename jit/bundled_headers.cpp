// SPDX-License-Identifier: Apache-2.0
#include "bundled_headers.hpp"

#include <cubinet/base/sha256.hpp>

#include <chrono>
#include <fcntl.h>
#include <set>
#include <system_error>
#include <unistd.h>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNameLength = 32;
constexpr auto kLeftOverAfter = std::chrono::hours(1);
// Files that NVRTC writes beside the headers. The lock file contains a date.
constexpr const char* kNotHeaders[] = {".nvrtc_install.lock", ".nvrtc_headers_version"};

Error unusable(const fs::path& path, const std::string& reason) {
  return Error{ErrorCode::unavailable,
               "the headers within NVRTC cannot be put into '" + path.string() + "': " + reason,
               "name another folder with `CompilerSearch::bundled_headers`, or install the "
               "wheels nvidia-cuda-runtime and nvidia-cuda-cccl beside NVRTC"};
}

fs::path absolute_of(fs::path folder) {
  std::error_code failure;
  fs::path path = fs::absolute(folder, failure).lexically_normal();
  if (failure) return folder;
  return path.has_filename() ? path : path.parent_path();
}

// Calls `visit` with the path and status of each file and folder below `folder`.
template <class Visit>
Result<void> for_each_below(FileSystem& files, const fs::path& folder, Visit&& visit) {
  std::vector<fs::path> folders = {folder};
  while (!folders.empty()) {
    const fs::path current = std::move(folders.back());
    folders.pop_back();
    CUBINET_TRY_ASSIGN(const Listing listing, files.list(current));
    for (const std::string& name : listing.names) {
      const fs::path path = current / name;
      CUBINET_TRY_ASSIGN(const auto status, files.status(path));
      if (!status) continue;
      CUBINET_TRY(visit(path, *status));
      if (status->type == FileStatus::Type::directory) folders.push_back(path);
    }
  }
  return {};
}

// Removes write permission for others. NVRTC creates its files with the umask's modes.
Result<void> close_to_others(FileSystem& files, const fs::path& folder) {
  constexpr auto kTheirs = fs::perms::group_write | fs::perms::others_write;
  return for_each_below(files, folder, [&](const fs::path& path, const FileStatus& status) -> Result<void> {
    const bool closed = (status.permissions & static_cast<unsigned>(kTheirs)) == 0;
    if (closed || status.type == FileStatus::Type::symlink) return {};
    std::error_code failure;
    fs::permissions(path, kTheirs, fs::perm_options::remove, failure);
    if (failure) return io_error("cannot protect '" + path.string() + "'", failure.value());
    return {};
  });
}

// Flushes all written files to the disk before the rename: 2400 files with one call.
std::error_code make_durable(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return {errno, std::system_category()};
  const int result = ::syncfs(descriptor);
  const std::error_code failure(result < 0 ? errno : 0, std::system_category());
  ::close(descriptor);
  return failure;
}

std::string name_of(std::string_view compiler) {
  return sha256(as_bytes(compiler)).to_hex().substr(0, kNameLength);
}

bool is_place(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.size() == kNameLength && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Returns the size of all files in a folder, or of those that can be listed.
std::uint64_t bytes_in(FileSystem& files, const fs::path& folder) {
  std::uint64_t bytes = 0;
  static_cast<void>(
      for_each_below(files, folder, [&](const fs::path&, const FileStatus& status) -> Result<void> {
        if (status.type == FileStatus::Type::regular) bytes += status.size;
        return {};
      }));
  return bytes;
}

}  // namespace

BundledHeaders::BundledHeaders(fs::path folder, std::string_view compiler)
    : parent_(absolute_of(std::move(folder))), place_(parent_ / name_of(compiler)) {}

std::vector<std::string> BundledHeaders::folders() const {
  return {place_.string(), (place_ / "cccl").string()};
}

Result<bool> BundledHeaders::is_trusted_folder(const fs::path& path) const {
  CUBINET_TRY_ASSIGN(const auto status, files_->status(path));
  if (!status) return false;
  const char* reason =
      status->type == FileStatus::Type::directory ? why_not_trusted(*status) : "is no folder";
  if (reason == nullptr) return true;
  return Error{ErrorCode::untrusted, "'" + path.string() + "', for the headers within NVRTC, " + reason,
               "give it to this user and run: chmod go-w '" + path.string() + "'"};
}

Result<bool> BundledHeaders::installed() const {
  for (const fs::path& folder : {parent_.parent_path(), parent_, place_}) {
    CUBINET_TRY_ASSIGN(const bool there, is_trusted_folder(folder));
    if (!there) return false;
  }
  return true;
}

Result<void> BundledHeaders::fill(const NvrtcApi& api, const fs::path& folder) const {
  CUBINET_TRY(files_->create_directories(folder, FileSystem::Mode::private_to_owner));
  const char* log = nullptr;
  // No other process knows the folder, so this waits only for threads of this process. With the
  // flag not to wait, NVRTC refuses while any thread installs headers, in any folder.
  constexpr unsigned kDefault = 0;
  const nvrtcResult result = api.install_bundled_headers(folder.c_str(), kDefault, &log);
  if (result != NVRTC_SUCCESS) {
    return unusable(parent_, std::string(api.nvrtcGetErrorString(result)) +
                                 (log == nullptr || *log == '\0' ? "" : std::string(", ") + log));
  }
  for (const char* name : kNotHeaders) {
    if (auto removed = files_->remove(folder / name); !removed)
      return unusable(parent_, removed.error().message);
  }
  if (auto closed = close_to_others(*files_, folder); !closed)
    return unusable(parent_, closed.error().message);
  // Users who may read the home may read the headers.
  std::error_code failure;
  fs::permissions(folder, fs::perms{0755}, failure);
  if (!failure) failure = make_durable(folder);
  if (failure) return unusable(parent_, failure.message());
  return {};
}

void BundledHeaders::remove_left_overs() const {
  const auto listing = files_->list(parent_);
  if (!listing) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  for (const std::string& name : listing->names) {
    if (!is_temporary_path(name)) continue;
    const fs::path path = parent_ / name;
    const auto status = files_->status(path);
    if (status && *status && now - std::chrono::nanoseconds((*status)->modified_ns) > kLeftOverAfter)
      static_cast<void>(files_->remove_tree(path));
  }
}

Result<UnneededHeaders> BundledHeaders::sweep(const fs::path& folder,
                                              const std::vector<std::string>& compilers, bool remove) {
  const BundledHeaders some(folder, {});
  UnneededHeaders unneeded;
  for (const fs::path& above : {some.parent_.parent_path(), some.parent_}) {
    CUBINET_TRY_ASSIGN(const bool there, some.is_trusted_folder(above));
    if (!there) return unneeded;
  }
  some.files_->guard(some.parent_.parent_path());
  std::set<std::string> needed;
  for (const std::string& compiler : compilers)
    needed.insert(name_of(compiler));
  CUBINET_TRY_ASSIGN(const Listing listing, some.files_->list(some.parent_));
  for (const std::string& name : listing.names) {
    const fs::path place = some.parent_ / name;
    if (!is_place(place) || needed.contains(name)) continue;
    ++unneeded.folders;
    unneeded.bytes += bytes_in(*some.files_, place);
    if (!remove) continue;
    const fs::path aside = temporary_path_beside(place);
    CUBINET_TRY(some.files_->rename(place, aside));
    static_cast<void>(some.files_->remove_tree(aside));  // remaining files are removed later
  }
  if (remove) some.remove_left_overs();
  return unneeded;
}

Result<void> BundledHeaders::install(const NvrtcApi& api) const {
  if (api.install_bundled_headers == nullptr) {
    return Error{ErrorCode::unavailable, "'" + api.library().path().string() + "' has no headers within it",
                 "install the wheels nvidia-cuda-runtime and nvidia-cuda-cccl beside it, or NVRTC 13.3 or "
                 "later"};
  }
  if (auto made = files_->create_directories(parent_.parent_path(), FileSystem::Mode::private_to_owner);
      !made)
    return unusable(parent_, made.error().message);
  if (auto made = files_->create_directories(parent_, FileSystem::Mode::shared); !made)
    return unusable(parent_, made.error().message);
  files_->guard(parent_.parent_path());
  CUBINET_TRY_ASSIGN(const bool there, installed());
  if (there) return {};
  remove_left_overs();
  const fs::path folder = temporary_path_beside(place_);
  Result<void> filled = fill(api, folder);
  const Result<void> renamed = filled ? files_->rename(folder, place_) : filled;
  if (renamed) return {};
  static_cast<void>(files_->remove_tree(folder));
  if (!filled) return filled;
  // Another process may have installed the headers first.
  CUBINET_TRY_ASSIGN(const bool theirs, installed());
  return theirs ? Result<void>() : unusable(parent_, renamed.error().message);
}

}  // namespace cubinet
