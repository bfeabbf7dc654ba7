// SPDX-License-Identifier: Apache-2.0
#include "descriptor.hpp"
#include "guarded_folders.hpp"

#include <cubinet/base/file_system.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

// Returns the error of a failed change. A missing folder or file is an io error here, not
// not_found.
Error change_failed(const char* verb, const fs::path& path) {
  const int number = errno;
  Error error = io_error(std::string("cannot ") + verb + " '" + path.string() + "'", number);
  if (number == ENOSPC || number == EDQUOT) error.remedy = "free some space, or name another folder";
  return error;
}

Error failed(const char* verb, const fs::path& path) {
  Error error = change_failed(verb, path);
  if (error.native == ENOENT) error.code = ErrorCode::not_found;
  return error;
}

// Returns whether a change failed because the file, or a folder of its path, does not exist.
bool is_missing(const Error& error) {
  return error.code == ErrorCode::io && error.native == ENOENT;
}

class PosixWritableFile final : public WritableFile {
 public:
  PosixWritableFile(Descriptor descriptor, fs::path path)
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

  Result<void> write(ByteView bytes) override {
    while (!bytes.empty()) {
      const ssize_t count = ::write(descriptor_.get(), bytes.data(), bytes.size());
      if (count < 0) {
        if (errno == EINTR) continue;
        return failed("write", path_);
      }
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return {};
  }
  Result<void> sync() override {
    if (::fsync(descriptor_.get()) != 0) return failed("sync", path_);
    return {};
  }
  Result<void> close() override {
    if (::close(descriptor_.release()) != 0) return failed("close", path_);
    return {};
  }

 private:
  Descriptor descriptor_;
  fs::path path_;
};

class PosixFileLock final : public FileLock {
 public:
  explicit PosixFileLock(Descriptor descriptor) : descriptor_(std::move(descriptor)), owner_(::getpid()) {}
  // Releases the lock explicitly. Closing the descriptor does not release it if a forked child
  // still holds a copy. Such a child must not release it either.
  ~PosixFileLock() override {
    if (::getpid() == owner_) ::flock(descriptor_.get(), LOCK_UN);
  }

 private:
  Descriptor descriptor_;
  pid_t owner_;
};

// Returns whether a name in a folder still means the open file. If it does not, others lock another
// file.
bool still_named(const struct stat& file, int folder, const fs::path& name) {
  struct stat named {};
  return ::fstatat(folder, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 && file.st_dev == named.st_dev &&
         file.st_ino == named.st_ino;
}

// Returns whether other users can open a lock file. flock needs read permission only, and users who
// may read a home must not block those who write it. Returns false for any file that might not be a
// lock file.
bool is_open_to_others(const struct stat& file) {
  const bool is_lock_file = S_ISREG(file.st_mode) && file.st_size == 0 && file.st_nlink == 1;
  return is_lock_file && file.st_uid == ::geteuid() && (file.st_mode & 077U) != 0;
}

// Puts a new private file in the place of a lock file that others can open, because another user
// may hold a lock on it. The processes of this user do this one after the other: each locks the new
// file under its temporary name, which only they can open, and then looks again at both names. So
// none replaces a new file, which another may have locked. Returns false if the folder cannot be
// changed.
bool replace_lock_file(const GuardedFolders::Place& place, const struct stat& old) {
  const fs::path beside = place.name.parent_path() / ("." + place.name.filename().string() + ".new");
  const int folder = place.at();
  const Descriptor fresh = open_at(folder, beside, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
  struct stat file {};
  if (fresh.get() < 0 || ::fstat(fresh.get(), &file) != 0) return false;
  if (!S_ISREG(file.st_mode) || file.st_uid != ::geteuid() || (file.st_mode & 077U) != 0) return false;
  while (::flock(fresh.get(), LOCK_EX) != 0)
    if (errno != EINTR) return false;
  const bool is_next = still_named(file, folder, beside) && still_named(old, folder, place.name);
  const bool replaced = !is_next || ::renameat(folder, beside.c_str(), folder, place.name.c_str()) == 0;
  ::flock(fresh.get(), LOCK_UN);  // a forked child may hold a copy of the descriptor
  return replaced;
}

FileStatus::Type type_of(mode_t mode) {
  if (S_ISREG(mode)) return FileStatus::Type::regular;
  if (S_ISDIR(mode)) return FileStatus::Type::directory;
  if (S_ISLNK(mode)) return FileStatus::Type::symlink;
  return FileStatus::Type::other;
}

struct OpenFile {
  Descriptor descriptor;
  struct stat info;
};

Result<OpenFile> open_regular(const fs::path& path, int flags, int folder = AT_FDCWD) {
  // O_NONBLOCK prevents blocking on a FIFO that was planted in place of a file.
  OpenFile file{open_at(folder, path, O_RDONLY | O_NONBLOCK | flags), {}};
  if (file.descriptor.get() < 0) return failed("open", path);
  if (::fstat(file.descriptor.get(), &file.info) != 0) return failed("inspect", path);
  if (!S_ISREG(file.info.st_mode)) {
    return Error{
        ErrorCode::invalid_argument, "'" + path.string() + "' is no regular file", "name a file", {}, EISDIR};
  }
  return file;
}

FileStatus status_of(const struct stat& info) {
  FileStatus status;
  status.type = type_of(info.st_mode);
  status.size = static_cast<std::uint64_t>(info.st_size);
  status.owner = info.st_uid;
  status.permissions = info.st_mode & 07777U;
  status.modified_ns = nanoseconds(info.st_mtim);
  status.changed_ns = nanoseconds(info.st_ctim);
  status.links = info.st_nlink;
  status.device = info.st_dev;
  status.inode = info.st_ino;
  return status;
}

const char* why_not_ours(const struct stat& info) {
  if (const char* reason = why_not_trusted(status_of(info))) return reason;
  // A file without a name was removed or replaced after it was opened. Its content is unchanged.
  if (info.st_nlink > 1) return "has another name (a hard link)";
  return nullptr;
}

Result<Bytes> read_at(const OpenFile& file, const fs::path& path, std::uint64_t offset, std::uint64_t count) {
  Bytes content(static_cast<std::size_t>(count));
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t got = ::pread(file.descriptor.get(), content.data() + done, content.size() - done,
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("read", path);
    // The file was shortened meanwhile. The digest check judges the remaining bytes.
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  content.resize(done);
  return content;
}

Result<Bytes> read_whole(const OpenFile& file, const fs::path& path, std::uint64_t limit) {
  const auto size = static_cast<std::uint64_t>(file.info.st_size);
  if (size > limit) {
    return Error{ErrorCode::invalid_argument,
                 "'" + path.string() + "' holds " + std::to_string(size) + " bytes, more than the " +
                     std::to_string(limit) + " allowed here",
                 "name another file"};
  }
  return read_at(file, path, 0, size);
}

// Calls `visit` with the name and DT_ type of each entry of an open folder, except "." and "..".
// Returns false, and sets errno, if the folder cannot be read.
template <class Visit>
bool for_each_entry(const Descriptor& folder, Visit&& visit) {
  // The first look-up of a kernel lists a folder of a few records. A buffer on the stack avoids
  // readdir's 32 KB on the heap.
  alignas(dirent64) std::array<char, 4096> buffer;
  while (true) {
    const long count = ::syscall(SYS_getdents64, folder.get(), buffer.data(), buffer.size());
    if (count < 0) return false;
    if (count == 0) return true;
    for (long at = 0; at < count;) {
      // The kernel aligns each entry. The cast through void avoids the compiler's alignment
      // warning.
      const auto* entry = static_cast<const dirent64*>(static_cast<const void*>(buffer.data() + at));
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") visit(entry->d_name, entry->d_type);
      at += entry->d_reclen;
    }
  }
}

// Returns whether an entry is a folder. Returns false for a link.
bool is_folder(const Descriptor& above, const char* name, unsigned char type) {
  if (type != DT_UNKNOWN) return type == DT_DIR;
  struct stat info {};
  return ::fstatat(above.get(), name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
}

// Removes a file, or a folder with all its content. Returns false, and sets errno, on failure.
bool remove_tree_at(int above, const char* name) {
  if (::unlinkat(above, name, 0) == 0 || errno == ENOENT) return true;
  if (errno != EISDIR) return false;
  const Descriptor folder = open_at(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (folder.get() < 0) return false;
  std::vector<std::string> names;
  if (!for_each_entry(folder, [&](const char* entry, unsigned char) { names.emplace_back(entry); }))
    return false;
  for (const std::string& entry : names) {
    if (!remove_tree_at(folder.get(), entry.c_str())) return false;
  }
  return ::unlinkat(above, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

class PosixFolder final : public OpenFolder {
 public:
  explicit PosixFolder(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

  Result<FileStatus> status() const override {
    struct stat info {};
    if (::fstat(descriptor_.get(), &info) != 0) return failed("inspect", "an open folder");
    return status_of(info);
  }
  Result<Bytes> read(const std::string& name, std::uint64_t limit) const override {
    CUBINET_TRY_ASSIGN(const OpenFile file, open_regular(name, 0, descriptor_.get()));
    return read_whole(file, name, limit);
  }

 private:
  Descriptor descriptor_;
};

class PosixFileSystem final : public FileSystem {
 public:
  Result<Bytes> read(const fs::path& path, std::uint64_t limit) override {
    return unless_stale([&]() -> Result<Bytes> {
      CUBINET_TRY_ASSIGN(const OpenFile file, open_regular(path, 0));
      return read_whole(file, path, limit);
    });
  }

  Result<OwnFile> read_own(const fs::path& path, std::uint64_t limit) override {
    return unless_stale([&] { return read_own_once(path, limit); });
  }

  Result<Bytes> read_range(const fs::path& path, std::uint64_t offset, std::uint64_t count) override {
    return unless_stale([&]() -> Result<Bytes> {
      CUBINET_TRY_ASSIGN(const OpenFile file, open_regular(path, 0));
      const auto size = static_cast<std::uint64_t>(file.info.st_size);
      const std::uint64_t there = offset < size ? std::min(count, size - offset) : 0;
      return read_at(file, path, offset, there);
    });
  }

  void guard(const fs::path& folder) override { guarded_.guard(folder); }

  Result<void> enclose(const fs::path& folder) override { return guarded_.enclose(folder); }

  Result<std::unique_ptr<WritableFile>> create(const fs::path& path) override {
    CUBINET_TRY_ASSIGN(const auto place, guarded_.place_of(path));
    Descriptor descriptor = open_at(place.at(), place.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);
    if (descriptor.get() < 0) return change_failed("create", path);
    return std::unique_ptr<WritableFile>(std::make_unique<PosixWritableFile>(std::move(descriptor), path));
  }

  Result<void> link(const fs::path& from, const fs::path& to) override {
    CUBINET_TRY_ASSIGN(const auto old_place, guarded_.place_of(from));
    CUBINET_TRY_ASSIGN(const auto place, guarded_.place_of(to));
    if (::linkat(old_place.at(), old_place.name.c_str(), place.at(), place.name.c_str(), 0) != 0)
      return change_failed("link a file to", to);
    return {};
  }

  Result<void> rename(const fs::path& from, const fs::path& to) override {
    CUBINET_TRY_ASSIGN(const auto old_place, guarded_.place_of(from));
    CUBINET_TRY_ASSIGN(const auto place, guarded_.place_of(to));
    if (::renameat(old_place.at(), old_place.name.c_str(), place.at(), place.name.c_str()) != 0)
      return change_failed("rename a new file to", to);
    return {};
  }

  Result<void> append(const fs::path& path, ByteView bytes) override {
    CUBINET_TRY_ASSIGN(const auto place, guarded_.place_of(path));
    const Descriptor descriptor =
        open_at(place.at(), place.name, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0644);
    if (descriptor.get() < 0) return change_failed("open", path);
    ssize_t written = -1;
    do {
      written = ::write(descriptor.get(), bytes.data(), bytes.size());
    } while (written < 0 && errno == EINTR);
    if (written < 0) return change_failed("write", path);
    if (static_cast<std::size_t>(written) != bytes.size()) {
      errno = ENOSPC;
      return change_failed("write", path);
    }
    return {};
  }

  Result<void> sync_directory(const fs::path& path) override {
    const Descriptor descriptor = open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
    if (descriptor.get() < 0) return change_failed("open", path);
    // EINVAL: file systems that cannot sync a folder (some network ones) order renames themselves.
    if (::fsync(descriptor.get()) != 0 && errno != EINVAL) return change_failed("sync", path);
    return {};
  }

  Result<bool> remove(const fs::path& path) override {
    const auto place = guarded_.place_of(path);
    if (!place && is_missing(place.error())) return false;
    if (!place) return place.error();
    if (::unlinkat(place->at(), place->name.c_str(), 0) == 0) return true;
    if (errno == ENOENT) return false;
    return change_failed("remove", path);
  }

  Result<void> remove_tree(const fs::path& path) override {
    const auto place = guarded_.place_of(path);
    if (!place && is_missing(place.error())) return {};
    if (!place) return place.error();
    if (!remove_tree_at(place->at(), place->name.c_str())) return change_failed("remove", path);
    return {};
  }

  Result<void> create_directories(const fs::path& path, Mode mode) override {
    const mode_t bits = mode == Mode::private_to_owner ? 0700 : 0755;
    auto made = create_directory(path, bits);
    if (made || !is_missing(made.error()) || !path.has_parent_path() || path.parent_path() == path)
      return made;
    CUBINET_TRY(create_directories(path.parent_path(), Mode::shared));
    return create_directory(path, bits);
  }

  Result<std::optional<FileStatus>> status(const fs::path& path) override {
    auto status = unless_stale([&]() -> Result<std::optional<FileStatus>> {
      struct stat info {};
      if (::lstat(path.c_str(), &info) != 0) {
        if (errno == ENOENT || errno == ENOTDIR) return std::optional<FileStatus>();
        return failed("inspect", path);
      }
      return std::optional<FileStatus>(status_of(info));
    });
    if (!status && status.error().code == ErrorCode::not_found) return std::optional<FileStatus>();
    return status;
  }

  Result<Listing> list(const fs::path& path) override {
    return unless_stale([&] { return list_once(path); });
  }

  Result<std::unique_ptr<FileLock>> lock(const fs::path& path, Sharing sharing) override {
    const int operation = (sharing == Sharing::shared ? LOCK_SH : LOCK_EX) | LOCK_NB;
    CUBINET_TRY_ASSIGN(const auto place, guarded_.place_of(path));
    while (true) {
      Descriptor descriptor =
          open_at(place.at(), place.name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
      if (descriptor.get() < 0) return change_failed("open the lock file", path);
      struct stat file {};
      if (::fstat(descriptor.get(), &file) != 0) return change_failed("inspect", path);
      if (is_open_to_others(file)) {
        if (replace_lock_file(place, file)) continue;
        static_cast<void>(::fchmod(descriptor.get(), 0600));
      }
      if (::flock(descriptor.get(), operation) != 0) {
        if (errno == EINTR) continue;
        if (errno == EWOULDBLOCK) return std::unique_ptr<FileLock>();
        return change_failed("lock", path);
      }
      if (still_named(file, place.at(), place.name))
        return std::unique_ptr<FileLock>(std::make_unique<PosixFileLock>(std::move(descriptor)));
    }
  }

  std::unique_ptr<OpenFolder> open_folder(const fs::path& path) override {
    Descriptor descriptor = open_at(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
    return descriptor.get() < 0 ? nullptr : std::make_unique<PosixFolder>(std::move(descriptor));
  }

  Result<void> check_writable(const fs::path& path) override {
    if (::access(path.c_str(), W_OK | X_OK) != 0) return change_failed("write", path);
    return {};
  }

  FileSystemKind kind(const fs::path& path) override {
    struct statfs info {};
    int status = -1;
    do {
      status = ::statfs(path.c_str(), &info);
    } while (status != 0 && errno == EINTR);
    if (status == 0) return file_system_kind(static_cast<std::uint32_t>(info.f_type));
    if (errno == ENOENT && path.has_relative_path()) return kind(path.parent_path());
    return {"unknown", false};
  }

 private:
  Result<OwnFile> read_own_once(const fs::path& path, std::uint64_t limit) {
    auto file = open_regular(path, O_NOFOLLOW);
    if (!file) {
      Error error = std::move(file).error();
      if (error.native == ELOOP || error.native == EISDIR) {
        error.code = ErrorCode::untrusted;
        error.remedy.clear();  // the user did not name this file
      }
      return error;
    }
    if (const char* reason = why_not_ours(file->info)) {
      return Error{ErrorCode::untrusted, "'" + path.string() + "' " + reason};
    }
    auto content = read_whole(*file, path, limit);
    if (content) return OwnFile{*std::move(content), status_of(file->info)};
    Error error = std::move(content).error();
    if (error.code != ErrorCode::invalid_argument) return error;
    error.code = ErrorCode::io;
    error.remedy.clear();
    return error;
  }

  Result<void> create_directory(const fs::path& path, mode_t bits) {
    CUBINET_TRY_ASSIGN(const auto place, guarded_.place_of(path));
    if (::mkdirat(place.at(), place.name.c_str(), bits) == 0) return {};
    if (errno != EEXIST) return change_failed("create the folder", path);
    struct stat info {};
    const int flags = place.folder.get() >= 0 ? AT_SYMLINK_NOFOLLOW : 0;
    if (::fstatat(place.at(), place.name.c_str(), &info, flags) == 0 && S_ISDIR(info.st_mode)) return {};
    errno = ENOTDIR;
    return change_failed("create the folder", path);
  }

  Result<Listing> list_once(const fs::path& path) {
    const Descriptor directory = open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
    struct stat info {};
    if (directory.get() < 0 || ::fstat(directory.get(), &info) != 0) return failed("list", path);
    Listing listing{status_of(info), {}, {}};
    const bool complete = for_each_entry(directory, [&](const char* name, unsigned char type) {
      listing.names.emplace_back(name);
      if (is_folder(directory, name, type)) listing.folders.emplace_back(name);
    });
    if (!complete) return failed("list", path);
    std::sort(listing.names.begin(), listing.names.end());
    std::sort(listing.folders.begin(), listing.folders.end());
    return listing;
  }

  GuardedFolders guarded_;
};

}  // namespace

std::shared_ptr<FileSystem> posix_file_system() {
  return std::make_shared<PosixFileSystem>();
}

}  // namespace cubinet
