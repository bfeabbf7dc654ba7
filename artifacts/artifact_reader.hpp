// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <cstdint>
#include <filesystem>

namespace cubinet {

// The facts that identify an unchanged file without reading it.
struct FileFacts {
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  std::uint64_t inode = 0;

  friend bool operator==(const FileFacts&, const FileFacts&) = default;
};

// Returns the facts of the regular file at `path`, following symbolic links. Returns not_found if
// there is none, invalid_argument if it is not a regular file, io otherwise.
Result<FileFacts> file_facts(const std::filesystem::path& path);

// Reads files in turn into one buffer. Not thread-safe.
class ArtifactReader {
 public:
  struct Content {
    ByteView bytes;  // valid until the next read
    FileFacts facts;
    // If true, the facts identify these bytes: the file did not change while it was read, and its
    // last change is older than the resolution of file times.
    bool settled = false;
  };

  // Reads a file. Returns the errors of file_facts, and io for a file of more than
  // kMaximumImageBytes. Published cubins are below 1 MiB, headers below 10 MiB.
  Result<Content> read(const std::filesystem::path& path);

 private:
  Bytes buffer_;
};

}  // namespace cubinet
