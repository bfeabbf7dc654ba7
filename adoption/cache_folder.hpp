// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// An open folder of another program's cache. Every name is relative to it and symbolic links are
// not followed, so changes by the owner cannot redirect access to another folder.
class CacheFolder {
 public:
  // Opens a folder. The path itself may be a link. Returns not_found if there is none.
  static Result<CacheFolder> open(const std::string& path);
  // Creates the folder and its parents if they are missing.
  static Result<CacheFolder> make(const std::string& path);
  CacheFolder(CacheFolder&& other) noexcept;
  CacheFolder& operator=(CacheFolder&& other) noexcept;
  ~CacheFolder();

  // Opens a subfolder. Returns not_found if there is none, io if the name is not a folder.
  Result<CacheFolder> folder(const std::string& name) const;
  Result<CacheFolder> make_folder(const std::string& name) const;
  // Creates a subfolder. Returns nothing if the name is taken.
  Result<std::optional<CacheFolder>> make_new_folder(const std::string& name) const;
  // Returns the names in byte order, without "." and "..".
  Result<std::vector<std::string>> list() const;
  // Reads a file. Returns not_found if there is none, invalid_argument if it is not a regular file
  // or exceeds the limit.
  Result<Bytes> read(const std::string& name, std::uint64_t limit) const;
  // Returns when a file, or a folder and the files in it, last changed, in nanoseconds since the
  // epoch (ctime, which no user can set). Returns 0 if there is none.
  std::int64_t last_change(const std::string& name) const;
  // Returns when a name in this folder was last added or removed (mtime), in nanoseconds since the
  // epoch.
  Result<std::int64_t> last_modified() const;
  // Creates a read-only file. sync() writes it to the disk.
  Result<void> write(const std::string& name, ByteView content) const;
  // Moves a subfolder, or a file, to a name in `to`. Returns false and moves nothing if the name is
  // taken by anything but an empty folder.
  Result<bool> move_folder(const std::string& name, const CacheFolder& to, const std::string& new_name) const;
  Result<bool> move_file(const std::string& name, const CacheFolder& to, const std::string& new_name) const;
  // Removes a file, or a subfolder with its content.
  void remove(const std::string& name) const;
  // Takes the lock of this folder (flock) until the object ends. Returns false if another process
  // or object holds it, or if the file system has no such locks.
  bool lock() const;
  // Writes all files of the file system to the disk: one call instead of one for each file.
  Result<void> sync() const;

 private:
  CacheFolder(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  Error error(const char* what, const std::string& name, int number) const;

  int descriptor_ = -1;
  std::string path_;  // for messages
};

}  // namespace cubinet
