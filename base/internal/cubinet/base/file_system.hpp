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

// Returns a file's time in nanoseconds since the epoch. A time outside the range is clamped: after
// April 2262, which 64 bits cannot hold, or before 1824, so that the distance from now does not
// overflow. Anyone who can write a file can set any time.
std::int64_t nanoseconds(const timespec& time);

struct FileStatus {
  enum class Type { regular, directory, symlink, other };
  Type type = Type::other;
  std::uint64_t size = 0;
  std::uint32_t owner = 0;        // user id
  std::uint32_t permissions = 0;  // the twelve mode bits
  std::int64_t modified_ns = 0;   // since the epoch
  std::int64_t changed_ns = 0;    // of content, name or owner; no user can set it
  std::uint64_t links = 0;        // number of names of the file
  std::uint64_t device = 0;       // identifies the file together with inode
  std::uint64_t inode = 0;
};

// A file's bytes, and its status when they were read.
struct OwnFile {
  Bytes content;
  FileStatus status;
};

struct Listing {
  FileStatus status;                 // of the folder, before its names were read
  std::vector<std::string> names;    // in byte order, without "." and ".."
  std::vector<std::string> folders;  // the names that are folders; excludes links
};

// The kind of a file system: "ext4", "tmpfs", "NFS", or "0x1234" if it has no name here.
struct FileSystemKind {
  std::string name;
  // If true, other machines or a program (FUSE) share its locks, times and content. SQLite must not
  // be used on it.
  bool network = false;
};
// Returns the kind for the number that statfs returns.
FileSystemKind file_system_kind(std::uint64_t magic);

// Returns why the current user cannot vouch for a file's content: "belongs to another user", "can
// be written by others". Returns nullptr if only this user and root can have written it.
const char* why_not_trusted(const FileStatus& status);

// A file that is being written. Destruction without close() closes the descriptor and loses its
// errors, which is acceptable only for a file that is being abandoned.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual Result<void> write(ByteView bytes) = 0;
  virtual Result<void> sync() = 0;  // fsync
  virtual Result<void> close() = 0;
};

// An advisory lock on a whole file. It is held until destruction, and the kernel releases it when
// its owner dies.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

// A folder that is kept open. Repeated queries use it because resolving the path takes longer than
// the query. If the folder is moved, this still refers to the same folder. If it is removed, it has
// no links. Thread-safe.
class OpenFolder {
 public:
  virtual ~OpenFolder() = default;
  virtual Result<FileStatus> status() const = 0;
  // Same as the functions of FileSystem, for a file in the folder or below it.
  virtual Result<Bytes> read(const std::string& name, std::uint64_t limit) const = 0;
};

// The system calls that durability depends on. Tests make the n-th call fail, or end the process in
// it. Thread-safe. Relative paths are relative to the working directory of the process. A change
// that finds no file or folder returns io, not not_found.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Reads the whole file. Errors: not_found if it does not exist, invalid_argument if it is not a
  // regular file or holds more than `limit` bytes.
  virtual Result<Bytes> read(const std::filesystem::path& path, std::uint64_t limit) = 0;
  // Reads like `read`, but only a file that nobody else can have written. Returns untrusted unless
  // it is a regular file of the calling user or root, with one name, that group and others cannot
  // write. Does not follow a symbolic link. Returns io for a larger file.
  virtual Result<OwnFile> read_own(const std::filesystem::path& path, std::uint64_t limit) = 0;
  // Reads `count` bytes from `offset` on, or fewer if the file ends before. Errors: not_found if
  // the file does not exist, invalid_argument if it is not a regular file.
  virtual Result<Bytes> read_range(const std::filesystem::path& path, std::uint64_t offset,
                                   std::uint64_t count) = 0;
  // Declares that `folder` belongs to this user alone. From then on every change below it enters
  // the folder and each folder in it one by one. A change follows no link there. It fails
  // (untrusted) if one of the folders belongs to another user or can be written by others. So no
  // change reaches a folder that another user has substituted, however late. Reads are not guarded:
  // callers verify what they read.
  virtual void guard(const std::filesystem::path& folder) = 0;
  // Opens a folder that others may also write, and keeps it open. From then on every change below
  // it starts at this open folder and follows no link, so no change leaves it, whatever others
  // substitute meanwhile. The links of the path itself are followed, but a last one only if it
  // belongs to the calling user or root. Reads are not guarded. Errors: not_found if the folder
  // does not exist, untrusted if the path names something else or a link of another user. Calling
  // it again opens what the path names then.
  virtual Result<void> enclose(const std::filesystem::path& folder) = 0;

  // Creates a new file with mode 0644, less the group and other write bits of the umask. Returns io
  // with EEXIST if the file exists.
  virtual Result<std::unique_ptr<WritableFile>> create(const std::filesystem::path& path) = 0;
  // Gives an existing file a second name, which must be free (otherwise io with EEXIST). Does not
  // follow a symbolic link.
  virtual Result<void> link(const std::filesystem::path& from, const std::filesystem::path& to) = 0;
  virtual Result<void> rename(const std::filesystem::path& from, const std::filesystem::path& to) = 0;
  // Appends bytes to a file in one write. Creates the file (mode as in `create`) if it is missing.
  // Does not sync.
  virtual Result<void> append(const std::filesystem::path& path, ByteView bytes) = 0;
  // Makes earlier creations and renames in the folder durable.
  virtual Result<void> sync_directory(const std::filesystem::path& path) = 0;
  // Removes a file. Returns false if there was none.
  virtual Result<bool> remove(const std::filesystem::path& path) = 0;
  // Removes a file, or a folder with all its content. Follows no link.
  virtual Result<void> remove_tree(const std::filesystem::path& path) = 0;
  // Creates a folder and its missing parents with mode 0755. The last one has mode 0700 for
  // `private_to_owner`. Succeeds if the folder exists.
  enum class Mode { shared, private_to_owner };
  virtual Result<void> create_directories(const std::filesystem::path& path, Mode mode) = 0;
  // Returns nullopt if nothing exists at the path. Does not follow a symbolic link.
  virtual Result<std::optional<FileStatus>> status(const std::filesystem::path& path) = 0;
  // Opens a folder, or returns nullptr if it cannot be kept open. Callers then access its files by
  // path. Does not follow a symbolic link.
  virtual std::unique_ptr<OpenFolder> open_folder(const std::filesystem::path&) { return nullptr; }
  virtual Result<Listing> list(const std::filesystem::path& path) = 0;
  // Creates the file if it is missing and takes a lock on it. Returns nullptr if another owner
  // holds a conflicting lock. Never waits. The lock is on the file that `path` names when the lock
  // is granted, so the holder of a lock may remove its file. Only the owner can open a lock file
  // (mode 0600), so users who cannot write cannot lock either. A lock file that others can open is
  // replaced by a new one, even while a lock on it is held.
  enum class Sharing { exclusive, shared };
  virtual Result<std::unique_ptr<FileLock>> lock(const std::filesystem::path& path,
                                                 Sharing sharing = Sharing::exclusive) = 0;
  // Returns an error with the reason unless the calling user may create files in the folder.
  virtual Result<void> check_writable(const std::filesystem::path& path) = 0;
  // Returns the kind of the file system that holds the path or its nearest existing parent.
  virtual FileSystemKind kind(const std::filesystem::path& path) = 0;
};

// Returns the operating system's file system. Stateless; may be shared.
std::shared_ptr<FileSystem> posix_file_system();

// Returns the result of `call`. Calls it a second time if a server no longer knows the file
// (ESTALE), because it was removed or replaced. A second ESTALE means that the file does not exist.
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

// Writes one file so that after a crash it holds the old or the new content, never a mixture:
// temporary file in the same folder, fsync, rename, fsync of the folder. Returns invalid_argument
// if `path` is a device, a socket or a pipe.
Result<void> write_file_atomically(FileSystem& files, const std::filesystem::path& path, ByteView content);

// Returns a unique name for a temporary file beside `path`: ".<name>.<pid>.<counter>.<random>.tmp".
std::filesystem::path temporary_path_beside(const std::filesystem::path& path);
// Returns whether temporary_path_beside() makes such names.
bool is_temporary_path(const std::filesystem::path& path);

}  // namespace cubinet
