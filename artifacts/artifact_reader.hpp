// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <cstdint>
#include <filesystem>

namespace cubinet {

// By what a file is known again without reading it.
struct FileFacts {
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  std::uint64_t inode = 0;

  friend bool operator==(const FileFacts&, const FileFacts&) = default;
};

// Of the regular file that `path` names, symbolic links followed. not_found when there is none,
// invalid_argument for what is no regular file, io otherwise.
Result<FileFacts> file_facts(const std::filesystem::path& path);

// Reads one file after the other into one buffer. Not thread-safe.
class ArtifactReader {
 public:
  struct Content {
    ByteView bytes;  // until the next read
    FileFacts facts;
    // The facts tell these bytes from any others: the file did not change while it was read, and its last
    // change is long enough ago that the clock of file times has moved on.
    bool settled = false;
  };

  // The errors of file_facts, and io for a file of more than kMaximumImageBytes: published cubins are below
  // 1 MiB, headers below 10 MiB.
  Result<Content> read(const std::filesystem::path& path);

 private:
  Bytes buffer_;
};

}  // namespace cubinet
