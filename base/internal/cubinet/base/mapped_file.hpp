// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <filesystem>

namespace cubinet {

// A file's content mapped into memory. Only accessed pages are read from disk, which suits reading
// a few kilobytes of a shared library of a hundred megabytes. Owns the mapping; movable. If another
// process shortens the file, the program ends with SIGBUS. Use it for installed libraries and never
// for files of a registry.
class MappedFile {
 public:
  // Maps a file. Errors: not_found if it does not exist, io if it is not a regular file.
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
