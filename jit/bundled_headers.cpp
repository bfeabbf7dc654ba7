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
// What NVRTC leaves beside them; the one tells a date.
constexpr const char* kNotHeaders[] = {".nvrtc_install.lock", ".nvrtc_headers_version"};

Error unusable(const fs::path& path, const std::string& reason) {
  return Error{ErrorCode::unavailable,
               "the headers within NVRTC cannot be put into '" + path.string() + "': " + reason,
               "name another folder (bundled_headers of CompilerSearch, the tool's --home), or install the "
               "wheels nvidia-cuda-runtime and nvidia-cuda-cccl beside NVRTC"};
}

fs::path absolute_of(fs::path folder) {
  std::error_code failure;
  fs::path path = fs::absolute(folder, failure).lexically_normal();
  if (failure) return folder;
  return path.has_filename() ? path : path.parent_path();
}

// NVRTC's files have the modes that the process's umask leaves them.
std::error_code close_to_others(const fs::path& folder) {
  constexpr auto kTheirs = fs::perms::group_write | fs::perms::others_write;
  std::error_code failure;
  for (fs::recursive_directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const fs::perms modes = entry->symlink_status(failure).permissions();
    if (!failure && (modes & kTheirs) != fs::perms::none)
      fs::permissions(entry->path(), kTheirs, fs::perm_options::remove, failure);
  }
  return failure;
}

// All that was written is on the disk before it has its name: 2400 files at once, not one by one.
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

std::uint64_t bytes_in(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code unknown;
  for (fs::recursive_directory_iterator entry(folder, unknown), end; !unknown && entry != end;
       entry.increment(unknown)) {
    std::error_code no_file;
    const std::uintmax_t size = entry->is_regular_file(no_file) ? entry->file_size(no_file) : 0;
    bytes += no_file ? 0 : size;
  }
  return bytes;
}

}  // namespace

// The folder above has to be known, too.
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
  // Nobody else knows the folder, so that only threads of this process are waited for: with the flag not to
  // wait it is refused while another of them is at it, in whatever folder.
  constexpr unsigned kDefault = 0;
  const nvrtcResult result = api.install_bundled_headers(folder.c_str(), kDefault, &log);
  if (result != NVRTC_SUCCESS) {
    return unusable(parent_, std::string(api.nvrtcGetErrorString(result)) +
                                 (log == nullptr || *log == '\0' ? "" : std::string(", ") + log));
  }
  std::error_code failure;
  for (const char* name : kNotHeaders) {
    fs::remove(folder / name, failure);
    if (failure) return unusable(parent_, failure.message());
  }
  failure = close_to_others(folder);
  // Whoever may read the home may read these.
  if (!failure) fs::permissions(folder, fs::perms{0755}, failure);
  if (!failure) failure = make_durable(folder);
  if (failure) return unusable(parent_, failure.message());
  return {};
}

// Of processes that were ended while they wrote.
void BundledHeaders::remove_left_overs() const {
  std::error_code ignored;
  for (fs::directory_iterator entry(parent_, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    std::error_code unknown;
    const auto age = fs::file_time_type::clock::now() - entry->last_write_time(unknown);
    if (name.starts_with('.') && name.ends_with(".tmp") && !unknown && age > kLeftOverAfter)
      fs::remove_all(entry->path(), unknown);
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
  std::set<std::string> needed;
  for (const std::string& compiler : compilers)
    needed.insert(name_of(compiler));
  CUBINET_TRY_ASSIGN(const Listing listing, some.files_->list(some.parent_));
  for (const std::string& name : listing.names) {
    const fs::path place = some.parent_ / name;
    if (!is_place(place) || needed.contains(name)) continue;
    ++unneeded.folders;
    unneeded.bytes += bytes_in(place);
    if (!remove) continue;
    const fs::path aside = temporary_path_beside(place);
    CUBINET_TRY(some.files_->rename(place, aside));
    std::error_code swept_later;
    fs::remove_all(aside, swept_later);
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
  CUBINET_TRY_ASSIGN(const bool there, installed());
  if (there) return {};
  remove_left_overs();
  const fs::path folder = temporary_path_beside(place_);
  Result<void> filled = fill(api, folder);
  std::error_code failure;
  if (filled) fs::rename(folder, place_, failure);
  if (filled && !failure) return {};
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  if (!filled) return filled;
  // Another process was faster.
  CUBINET_TRY_ASSIGN(const bool theirs, installed());
  return theirs ? Result<void>() : unusable(parent_, failure.message());
}

}  // namespace cubinet
