// SPDX-License-Identifier: Apache-2.0
#include "cache_folder.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/base/text.hpp>

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace cubinet {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

// A descriptor that is closed at the end of its scope.
struct OpenFile {
  explicit OpenFile(int opened) : descriptor(opened) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor >= 0) ::close(descriptor);
  }
  int descriptor;
};

bool is_missing(int number) {
  return number == ENOENT || number == ESTALE;
}

}  // namespace

CacheFolder::CacheFolder(CacheFolder&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

CacheFolder& CacheFolder::operator=(CacheFolder&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  return *this;
}

CacheFolder::~CacheFolder() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Error CacheFolder::error(const char* what, const std::string& name, int number) const {
  const std::string path = printable(name.empty() ? path_ : path_ + "/" + name);
  if (is_missing(number))
    return Error{ErrorCode::not_found, "there is no '" + path + "'", "name the cache's folder", "", number};
  return io_error(std::string("cannot ") + what + " '" + path + "'", number);
}

Result<CacheFolder> CacheFolder::open(const std::string& path) {
  CacheFolder opened(::open(path.c_str(), kFolderFlags), path);
  if (opened.descriptor_ < 0 && errno == ENOTDIR)
    return Error{ErrorCode::invalid_argument, "'" + printable(path) + "' is no folder",
                 "name the cache's folder"};
  if (opened.descriptor_ < 0) return opened.error("open folder", {}, errno);
  return opened;
}

Result<CacheFolder> CacheFolder::make(const std::string& path) {
  std::error_code failure;
  std::filesystem::create_directories(path, failure);
  if (failure) return io_error("cannot make folder '" + printable(path) + "'", failure.value());
  return open(path);
}

Result<CacheFolder> CacheFolder::folder(const std::string& name) const {
  CacheFolder opened(::openat(descriptor_, name.c_str(), kFolderFlags | O_NOFOLLOW), path_ + "/" + name);
  if (opened.descriptor_ < 0) return error("open folder", name, errno);
  return opened;
}

Result<CacheFolder> CacheFolder::make_folder(const std::string& name) const {
  if (::mkdirat(descriptor_, name.c_str(), 0755) != 0 && errno != EEXIST)
    return error("make folder", name, errno);
  return folder(name);
}

Result<std::optional<CacheFolder>> CacheFolder::make_new_folder(const std::string& name) const {
  if (::mkdirat(descriptor_, name.c_str(), 0755) != 0) {
    if (errno == EEXIST) return std::optional<CacheFolder>();
    return error("make folder", name, errno);
  }
  CUBINET_TRY_ASSIGN(CacheFolder made, folder(name));
  return std::optional<CacheFolder>(std::move(made));
}

Result<std::vector<std::string>> CacheFolder::list() const {
  // A separate descriptor, because reading moves its position.
  const int own = ::openat(descriptor_, ".", kFolderFlags);
  if (own < 0) return error("list folder", {}, errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(own), ::closedir);
  if (stream == nullptr) {
    const int number = errno;
    ::close(own);
    return error("list folder", {}, number);
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return error("list folder", {}, errno);
  std::sort(names.begin(), names.end());
  return names;
}

Result<Bytes> CacheFolder::read(const std::string& name, std::uint64_t limit) const {
  const OpenFile file(
      ::openat(descriptor_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (file.descriptor < 0) return error("open", name, errno);
  struct stat status {};
  if (::fstat(file.descriptor, &status) != 0) return error("look at", name, errno);
  if (!S_ISREG(status.st_mode) || static_cast<std::uint64_t>(status.st_size) > limit) {
    return Error{ErrorCode::invalid_argument,
                 "'" + printable(path_ + "/" + name) + "' is no regular file of at most " +
                     std::to_string(limit) + " bytes",
                 "remove it from the cache"};
  }
  Bytes content(static_cast<std::size_t>(status.st_size));
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t got = ::read(file.descriptor, content.data() + done, content.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return error("read", name, errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  // The file shrank after it was opened: another process is writing it.
  if (done != content.size()) return error("read", name, EBUSY);
  return content;
}

std::int64_t CacheFolder::last_change(const std::string& name) const {
  struct stat status {};
  if (::fstatat(descriptor_, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  std::int64_t latest = nanoseconds(status.st_ctim);
  if (!S_ISDIR(status.st_mode)) return latest;
  const auto inner = folder(name);
  const auto names = inner ? inner->list() : Result<std::vector<std::string>>(inner.error());
  if (!names) return latest;
  for (const std::string& file : *names) {
    if (::fstatat(inner->descriptor_, file.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
      latest = std::max(latest, nanoseconds(status.st_ctim));
  }
  return latest;
}

Result<std::int64_t> CacheFolder::last_modified() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) return error("look at", {}, errno);
  return nanoseconds(status.st_mtim);
}

Result<void> CacheFolder::write(const std::string& name, ByteView content) const {
  OpenFile file(
      ::openat(descriptor_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.descriptor < 0) return error("create", name, errno);
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t put = ::write(file.descriptor, content.data() + done, content.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return error("write", name, errno);
    done += static_cast<std::size_t>(put);
  }
  if (::fchmod(file.descriptor, 0444) != 0) return error("protect", name, errno);
  if (::close(std::exchange(file.descriptor, -1)) != 0) return error("close", name, errno);
  return {};
}

Result<bool> CacheFolder::move_folder(const std::string& name, const CacheFolder& to,
                                      const std::string& new_name) const {
  // The system lets a folder replace only an empty folder.
  if (::renameat(descriptor_, name.c_str(), to.descriptor_, new_name.c_str()) == 0) return true;
  if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR) return false;
  return to.error("make folder", new_name, errno);
}

Result<bool> CacheFolder::move_file(const std::string& name, const CacheFolder& to,
                                    const std::string& new_name) const {
  // linkat fails with EEXIST. A rename would replace the existing file.
  if (::linkat(descriptor_, name.c_str(), to.descriptor_, new_name.c_str(), 0) != 0) {
    if (errno == EEXIST) return false;
    return to.error("make", new_name, errno);
  }
  ::unlinkat(descriptor_, name.c_str(), 0);
  return true;
}

void CacheFolder::remove(const std::string& name) const {
  if (::unlinkat(descriptor_, name.c_str(), 0) == 0 || errno != EISDIR) return;
  if (const auto inner = folder(name)) {
    if (const auto names = inner->list()) {
      for (const std::string& file : *names)
        inner->remove(file);
    }
  }
  ::unlinkat(descriptor_, name.c_str(), AT_REMOVEDIR);
}

bool CacheFolder::lock() const {
  return ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
}

Result<void> CacheFolder::sync() const {
  if (::syncfs(descriptor_) != 0) return error("sync folder", {}, errno);
  return {};
}

}  // namespace cubinet
