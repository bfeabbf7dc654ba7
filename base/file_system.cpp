// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/file_system.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <limits>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

int open_retrying(const fs::path& path, int flags, mode_t mode = 0, int folder = AT_FDCWD) {
  int fd = -1;
  do {
    fd = ::openat(folder, path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

Error failed(const char* verb, const fs::path& path) {
  const int number = errno;
  Error error = io_error(std::string("cannot ") + verb + " '" + path.string() + "'", number);
  if (number == ENOENT) error.code = ErrorCode::not_found;
  if (number == ENOSPC || number == EDQUOT) error.remedy = "free some space, or name another folder";
  return error;
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
  // Closing releases the lock only when no child was forked meanwhile that still holds a copy of the
  // descriptor, so it is released in so many words; but not by such a child.
  ~PosixFileLock() override {
    if (::getpid() == owner_) ::flock(descriptor_.get(), LOCK_UN);
  }

 private:
  Descriptor descriptor_;
  pid_t owner_;
};

// False where somebody has removed or replaced the file since it was opened: then others lock another one.
Result<bool> still_named(const Descriptor& descriptor, const fs::path& path) {
  struct stat ours {};
  struct stat named {};
  if (::fstat(descriptor.get(), &ours) != 0) return failed("inspect", path);
  return ::stat(path.c_str(), &named) == 0 && ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
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
  // O_NONBLOCK: a FIFO planted where a file is expected must not hang us.
  OpenFile file{Descriptor(open_retrying(path, O_RDONLY | O_NONBLOCK | flags, 0, folder)), {}};
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
  // With no name left it was removed or replaced since it was opened, and is what it was then.
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
    if (got == 0) break;  // shortened while we read: what is there is what the digest will judge
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

  Result<std::unique_ptr<WritableFile>> create(const fs::path& path) override {
    Descriptor descriptor(open_retrying(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644));
    if (descriptor.get() < 0) return failed("create", path);
    return std::unique_ptr<WritableFile>(std::make_unique<PosixWritableFile>(std::move(descriptor), path));
  }

  Result<void> link(const fs::path& from, const fs::path& to) override {
    if (::link(from.c_str(), to.c_str()) != 0) return failed("link a file to", to);
    return {};
  }

  Result<void> rename(const fs::path& from, const fs::path& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) return failed("rename a new file to", to);
    return {};
  }

  Result<bool> append(const fs::path& path, ByteView bytes) override {
    while (true) {
      const Descriptor descriptor(
          open_retrying(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0644));
      if (descriptor.get() < 0) return failed("open", path);
      // Where there are no locks, what is added while somebody replaces the file may be lost with it.
      if (::flock(descriptor.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
      CUBINET_TRY_ASSIGN(const bool named, still_named(descriptor, path));
      if (!named) continue;
      ssize_t written = -1;
      do {
        written = ::write(descriptor.get(), bytes.data(), bytes.size());
      } while (written < 0 && errno == EINTR);
      if (written < 0) return failed("write", path);
      if (static_cast<std::size_t>(written) != bytes.size()) {
        errno = ENOSPC;
        return failed("write", path);
      }
      return true;
    }
  }

  Result<void> sync_directory(const fs::path& path) override {
    const Descriptor descriptor(open_retrying(path, O_RDONLY | O_DIRECTORY));
    if (descriptor.get() < 0) return failed("open", path);
    // EINVAL: file systems that cannot sync a folder (some network ones) order renames themselves.
    if (::fsync(descriptor.get()) != 0 && errno != EINVAL) return failed("sync", path);
    return {};
  }

  Result<bool> remove(const fs::path& path) override {
    if (::unlink(path.c_str()) == 0) return true;
    if (errno == ENOENT) return false;
    return failed("remove", path);
  }

  Result<void> create_directories(const fs::path& path, Mode mode) override {
    if (::mkdir(path.c_str(), mode == Mode::private_to_owner ? 0700 : 0755) == 0) return {};
    if (errno == ENOENT && path.has_parent_path() && path.parent_path() != path) {
      CUBINET_TRY(create_directories(path.parent_path(), Mode::shared));
      if (::mkdir(path.c_str(), mode == Mode::private_to_owner ? 0700 : 0755) == 0) return {};
    }
    if (errno == EEXIST) {
      struct stat info {};
      if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return {};
      errno = ENOTDIR;
    }
    Error error = failed("create the folder", path);
    error.code = ErrorCode::io;
    return error;
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
    while (true) {
      Descriptor descriptor(open_retrying(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0644));
      if (descriptor.get() < 0) return failed("open the lock file", path);
      if (::flock(descriptor.get(), operation) != 0) {
        if (errno == EINTR) continue;
        if (errno == EWOULDBLOCK) return std::unique_ptr<FileLock>();
        return failed("lock", path);
      }
      CUBINET_TRY_ASSIGN(const bool named, still_named(descriptor, path));
      if (named) return std::unique_ptr<FileLock>(std::make_unique<PosixFileLock>(std::move(descriptor)));
    }
  }

  std::unique_ptr<OpenFolder> open_folder(const fs::path& path) override {
    Descriptor descriptor(open_retrying(path, O_PATH | O_DIRECTORY | O_NOFOLLOW));
    return descriptor.get() < 0 ? nullptr : std::make_unique<PosixFolder>(std::move(descriptor));
  }

  bool writable(const fs::path& path) override { return ::access(path.c_str(), W_OK | X_OK) == 0; }

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
        error.remedy.clear();  // nobody named it
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

  Result<Listing> list_once(const fs::path& path) {
    const Descriptor directory(open_retrying(path, O_RDONLY | O_DIRECTORY));
    struct stat info {};
    if (directory.get() < 0 || ::fstat(directory.get(), &info) != 0) return failed("list", path);
    Listing listing{status_of(info), {}};
    // A kernel's first look-up lists a folder of a few records: not with readdir's 32 KB from the heap.
    alignas(dirent64) std::array<char, 4096> buffer;
    while (true) {
      const long count = ::syscall(SYS_getdents64, directory.get(), buffer.data(), buffer.size());
      if (count < 0) return failed("list", path);
      if (count == 0) break;
      for (long at = 0; at < count;) {
        // The kernel aligns each entry; void says so to the compiler.
        const auto* entry = static_cast<const dirent64*>(static_cast<const void*>(buffer.data() + at));
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") listing.names.emplace_back(name);
        at += entry->d_reclen;
      }
    }
    std::sort(listing.names.begin(), listing.names.end());
    return listing;
  }
};

}  // namespace

std::int64_t nanoseconds(const timespec& time) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kFirst = -kLast / 2;
  if (time.tv_sec >= kLast / kSecond) return kLast;
  if (time.tv_sec <= kFirst / kSecond) return kFirst;
  return std::int64_t{time.tv_sec} * kSecond + time.tv_nsec;
}

FileSystemKind file_system_kind(std::uint64_t magic) {
  struct Known {
    std::uint64_t magic;
    const char* name;
    bool network;
  };
  // statfs(2) and the headers of those that the kernel does not know.
  constexpr std::array<Known, 24> kKnown = {{
      {0x6969, "NFS", true},        {0x0BD00BD0, "Lustre", true}, {0x47504653, "GPFS", true},
      {0x65735546, "FUSE", true},   {0xFF534D42, "CIFS", true},   {0xFE534D42, "SMB", true},
      {0x517B, "SMB", true},        {0x00C36400, "Ceph", true},   {0x19830326, "BeeGFS", true},
      {0x01021997, "9p", true},     {0x5346414F, "AFS", true},    {0x6B414653, "AFS", true},
      {0x01161970, "GFS2", true},   {0x7461636F, "OCFS2", true},  {0xAAD7AAEA, "PanFS", true},
      {0x786F4256, "vboxsf", true}, {0xEF53, "ext4", false},      {0x58465342, "XFS", false},
      {0x9123683E, "btrfs", false}, {0x01021994, "tmpfs", false}, {0x794C7630, "overlayfs", false},
      {0x2FC12FC1, "ZFS", false},   {0xF2F52010, "F2FS", false},  {0x73717368, "squashfs", false},
  }};
  for (const Known& known : kKnown) {
    if (known.magic == magic) return {known.name, known.network};
  }
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(magic));
  return {text.data(), false};
}

std::shared_ptr<FileSystem> posix_file_system() {
  return std::make_shared<PosixFileSystem>();
}

fs::path temporary_path_beside(const fs::path& path) {
  static std::atomic<unsigned> counter{0};
  // The random part keeps two containers that share a folder, and so may share a pid, apart. Not
  // std::random_device: libstdc++'s needs glibc 2.36, above the portable build's floor, and may throw.
  unsigned entropy = 0;
  if (::getentropy(&entropy, sizeof(entropy)) != 0) entropy = 0;  // pid and counter are left
  return path.parent_path() / ("." + path.filename().string() + "." + std::to_string(::getpid()) + "." +
                               std::to_string(counter.fetch_add(1)) + "." + std::to_string(entropy) + ".tmp");
}

namespace {

Result<void> write_and_rename(FileSystem& files, const fs::path& temporary, const fs::path& path,
                              ByteView content) {
  CUBINET_TRY_ASSIGN(auto file, files.create(temporary));
  CUBINET_TRY(file->write(content));
  CUBINET_TRY(file->sync());
  CUBINET_TRY(file->close());
  return files.rename(temporary, path);
}

}  // namespace

const char* why_not_trusted(const FileStatus& status) {
  // Root can write whatever it likes anyway.
  if (status.owner != 0 && status.owner != ::geteuid()) return "belongs to another user";
  if ((status.permissions & (S_IWGRP | S_IWOTH)) != 0) return "can be written by others";
  return nullptr;
}

Result<void> write_file_atomically(FileSystem& files, const fs::path& path, ByteView content) {
  const fs::path temporary = temporary_path_beside(path);
  if (auto written = write_and_rename(files, temporary, path, content); !written) {
    // The first error is the one that matters; a temporary file that stays is swept later.
    static_cast<void>(files.remove(temporary));
    return written;
  }
  return files.sync_directory(path.has_parent_path() ? path.parent_path() : fs::path("."));
}

}  // namespace cubinet
