// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <filesystem>

namespace cubinet {

// A file's content as memory, read from the disk only where it is looked at: for the few kilobytes wanted of
// a shared library of a hundred megabytes. Owns the mapping; movable. A file that somebody shortens meanwhile
// ends the process with SIGBUS, so this is for installed libraries and never for files of a registry.
class MappedFile {
 public:
  // not_found when there is none; io for what is no regular file.
  static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  ByteView content() const { return content_; }

 private:
  explicit MappedFile(ByteView content) : content_(content) {}

  ByteView content_;
};

}  // namespace cubinet
