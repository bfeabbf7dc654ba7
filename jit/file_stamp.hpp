// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>

#include <cstdint>
#include <filesystem>

namespace cubinet {

// The state of a file when it was read; it may be missing.
struct FileStamp {
  std::filesystem::path path;
  bool exists = false;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;

  static FileStamp take(std::filesystem::path path);
  // Returns whether every edit after `now_ns` changes the stamp. File times have ticks of up to 10
  // ms, on some file systems of 2 s. Two edits within one tick that keep the size look the same.
  bool settled(std::int64_t now_ns) const;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// The source of stamps and of the time. Tests replace it to simulate edits that file times do not
// show.
struct FileProbe {
  Callback<FileStamp(const std::filesystem::path&)> stamp = FileStamp::take;
  Callback<std::int64_t()> now_ns = wall_clock_ns;  // since 1970, the clock that file times follow

  static std::int64_t wall_clock_ns();
};

}  // namespace cubinet
