// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>

#include <cstdint>
#include <filesystem>

namespace cubinet {

// What a file was when it was read, or that it was not there.
struct FileStamp {
  std::filesystem::path path;
  bool exists = false;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;

  static FileStamp take(std::filesystem::path path);
  // Whether every edit after `now_ns` will show in another stamp. File times go in ticks (of up to 10 ms, on
  // some file systems of 2 s): what is edited twice within one, to the same size, looks the same.
  bool settled(std::int64_t now_ns) const;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// Where stamps and the time come from. Replaced in tests: an edit that no file time shows cannot be made at
// will.
struct FileProbe {
  Callback<FileStamp(const std::filesystem::path&)> stamp = FileStamp::take;
  Callback<std::int64_t()> now_ns = wall_clock_ns;  // since 1970, the clock that file times follow

  static std::int64_t wall_clock_ns();
};

}  // namespace cubinet
