// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// An open folder of somebody else's cache. Every name is one in it, and no symbolic link is followed: what
// its owner does meanwhile leads nowhere else.
class CacheFolder {
 public:
  // not_found where there is none. The path itself may be a link.
  static Result<CacheFolder> open(const std::string& path);
  // Makes it, and what it lies in, where it is missing.
  static Result<CacheFolder> make(const std::string& path);
  CacheFolder(CacheFolder&& other) noexcept;
  CacheFolder& operator=(CacheFolder&& other) noexcept;
  ~CacheFolder();

  // A folder in it; not_found where there is none, io where the name is something else's.
  Result<CacheFolder> folder(const std::string& name) const;
  Result<CacheFolder> make_folder(const std::string& name) const;
  // Names in byte order, without "." and "..".
  Result<std::vector<std::string>> list() const;
  // A file in it: not_found where there is none, invalid_argument for what is no regular file, or larger.
  Result<Bytes> read(const std::string& name, std::uint64_t limit) const;
  // A new file that nobody may write, on disk before this returns.
  Result<void> write(const std::string& name, ByteView content) const;
  // Moves a folder of this one, or a file, to a name in `to`; false, and nothing is moved, where the name is
  // taken by anything but an empty folder.
  Result<bool> move_folder(const std::string& name, const CacheFolder& to, const std::string& new_name) const;
  Result<bool> move_file(const std::string& name, const CacheFolder& to, const std::string& new_name) const;
  // A folder in it, with the files that it has.
  void remove_folder(const std::string& name) const;
  // The same of those whose names begin so and that nobody has touched for an hour.
  void remove_abandoned(std::string_view prefix) const;
  Result<void> sync() const;

 private:
  CacheFolder(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  Error error(const char* what, const std::string& name, int number) const;

  int descriptor_ = -1;
  std::string path_;  // for messages
};

}  // namespace cubinet
