// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// A file's time in nanoseconds since the epoch. One that 64 bits do not hold (after April 2262; or before
// 1824, so that the distance from now does not overflow either) is the nearest that they do: who may write a
// file may set any.
std::int64_t nanoseconds(const timespec& time);

struct FileStatus {
  enum class Type { regular, directory, symlink, other };
  Type type = Type::other;
  std::uint64_t size = 0;
  std::uint32_t owner = 0;        // user id
  std::uint32_t permissions = 0;  // the twelve mode bits
  std::int64_t modified_ns = 0;   // since the epoch
  std::int64_t changed_ns = 0;    // of content, name or owner; nobody can set it to another time
  std::uint64_t links = 0;        // names that the file has
  std::uint64_t device = 0;       // with inode: which file it is
  std::uint64_t inode = 0;
};

// A file's bytes, and what the file was when they were read.
struct OwnFile {
  Bytes content;
  FileStatus status;
};

struct Listing {
  FileStatus status;                 // of the folder, before its names were read
  std::vector<std::string> names;    // in byte order, without "." and ".."
  std::vector<std::string> folders;  // the names that are folders; a link is none
};

// What a folder lies on: "ext4", "tmpfs", "NFS", "0x1234" for what has no name here.
struct FileSystemKind {
  std::string name;
  // Its locks, its times and what it shows are those of other machines too, or of a program (FUSE): nothing
  // that SQLite could be trusted with.
  bool network = false;
};
// By the number that statfs gives.
FileSystemKind file_system_kind(std::uint64_t magic);

// Why this process's user cannot answer for what a file holds: "belongs to another user", "can be written by
// others". nullptr where nobody else but root could have written it.
const char* why_not_trusted(const FileStatus& status);

// A file being written. Destroyed without close(), the descriptor is closed and its errors are lost, which is
// right for a file that is being abandoned and wrong for one that is kept.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual Result<void> write(ByteView bytes) = 0;
  virtual Result<void> sync() = 0;  // fsync
  virtual Result<void> close() = 0;
};

// An advisory lock on a whole file, held until destruction and released by the kernel when its owner dies.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

// A folder kept open. What is asked again and again is found there without the way to it, which takes longer
// than the answer. Moved elsewhere it stays the same folder; removed, it has no links. Thread-safe.
class OpenFolder {
 public:
  virtual ~OpenFolder() = default;
  virtual Result<FileStatus> status() const = 0;
  // As FileSystem's, of a file in it or below.
  virtual Result<Bytes> read(const std::string& name, std::uint64_t limit) const = 0;
};

// The system calls that durability depends on. Tests make the n-th call fail, or end the process in it.
// Thread-safe. Relative paths are relative to the working directory of the process. A change that finds no
// file or folder is an error (io), not a miss.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // The whole file; not_found when there is none, invalid_argument for what is no regular file or holds more
  // than `limit` bytes.
  virtual Result<Bytes> read(const std::filesystem::path& path, std::uint64_t limit) = 0;
  // As `read`, of a file that only we can have written: untrusted unless it is a regular file of the calling
  // user or root, with one name, that group and others cannot write. Does not follow a symbolic link.
  // A larger file is an error of io.
  virtual Result<OwnFile> read_own(const std::filesystem::path& path, std::uint64_t limit) = 0;
  // `count` bytes from `offset` on, fewer where the file ends before. not_found when there is no file,
  // invalid_argument for what is no regular one.
  virtual Result<Bytes> read_range(const std::filesystem::path& path, std::uint64_t offset,
                                   std::uint64_t count) = 0;
  // Declares that `folder` belongs to this user alone. From then on every change below it enters the folder,
  // and each folder in it, one by one: it follows no link there, and it fails (untrusted) if one of them
  // belongs to another user or can be written by others. So no change reaches a folder that another user has
  // put in its place, however late. Reads are not guarded: callers verify what they read.
  virtual void guard(const std::filesystem::path& folder) = 0;

  // Creates a file that did not exist (io with EEXIST otherwise), mode 0644 less the umask's group and other
  // write.
  virtual Result<std::unique_ptr<WritableFile>> create(const std::filesystem::path& path) = 0;
  // Gives a file that is there a second name, which must be free (io with EEXIST otherwise). Does not follow
  // a symbolic link.
  virtual Result<void> link(const std::filesystem::path& from, const std::filesystem::path& to) = 0;
  virtual Result<void> rename(const std::filesystem::path& from, const std::filesystem::path& to) = 0;
  // Adds bytes to the end of a file in one write, and creates the file (mode as in `create`) if it is
  // missing. Does not sync.
  virtual Result<void> append(const std::filesystem::path& path, ByteView bytes) = 0;
  // Makes earlier creations and renames in the folder durable.
  virtual Result<void> sync_directory(const std::filesystem::path& path) = 0;
  // Removes a file. Returns false if there was none.
  virtual Result<bool> remove(const std::filesystem::path& path) = 0;
  // Removes a file, or a folder with all that it holds, and follows no link.
  virtual Result<void> remove_tree(const std::filesystem::path& path) = 0;
  // Creates missing parents too, mode 0755 (0700 for the last when `private_mode`). Not an error when it
  // exists.
  enum class Mode { shared, private_to_owner };
  virtual Result<void> create_directories(const std::filesystem::path& path, Mode mode) = 0;
  // Does not follow a symbolic link; nullopt when there is nothing.
  virtual Result<std::optional<FileStatus>> status(const std::filesystem::path& path) = 0;
  // nullptr where it cannot be kept open: then what is in it is asked for by path. Does not follow a symbolic
  // link.
  virtual std::unique_ptr<OpenFolder> open_folder(const std::filesystem::path& /*path*/) { return nullptr; }
  virtual Result<Listing> list(const std::filesystem::path& path) = 0;
  // Creates the file if it is missing and takes a lock on it. Returns nullptr if somebody else holds a lock
  // that excludes ours. Never waits. The lock is on the file that `path` names when it is granted, so the
  // holder of a lock may remove its file. Nobody but the owner can open a lock file (mode 0600): who cannot
  // write cannot lock either.
  enum class Sharing { exclusive, shared };
  virtual Result<std::unique_ptr<FileLock>> lock(const std::filesystem::path& path,
                                                 Sharing sharing = Sharing::exclusive) = 0;
  // Returns an error with the reason unless the calling user may create files in the folder.
  virtual Result<void> check_writable(const std::filesystem::path& path) = 0;
  // Of what the path lies on, or its nearest parent that is there.
  virtual FileSystemKind kind(const std::filesystem::path& path) = 0;
};

// The operating system's. Stateless; may be shared.
std::shared_ptr<FileSystem> posix_file_system();

// What `call` gives, asked once more where a server has forgotten the file (ESTALE: somebody removed it, or
// put another in its place). Forgotten twice, it is not there.
template <class Call>
auto unless_stale(Call&& call) -> decltype(call()) {
  auto result = call();
  if (result || result.error().native != ESTALE) return result;
  result = call();
  if (result || result.error().native != ESTALE) return result;
  Error error = std::move(result).error();
  error.code = ErrorCode::not_found;
  return error;
}

// Convenience over FileSystem for callers that write one file: writes `path` so that after a crash it holds
// the old or the new content, never a mixture: temporary file in the same folder, fsync, rename, fsync of the
// folder.
Result<void> write_file_atomically(FileSystem& files, const std::filesystem::path& path, ByteView content);

// Returns a unique name for a temporary file beside `path`: ".<name>.<pid>.<counter>.<random>.tmp".
std::filesystem::path temporary_path_beside(const std::filesystem::path& path);
// Returns whether temporary_path_beside() makes such names.
bool is_temporary_path(const std::filesystem::path& path);

}  // namespace cubinet
