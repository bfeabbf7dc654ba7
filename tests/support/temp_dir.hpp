// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <filesystem>
#include <fstream>
#include <string_view>

namespace cubinet::test {

// A new empty folder of mode 0700 under the system's temporary folder. Its destructor removes it
// with all its content, including folders that a test made unwritable.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// Writes a file with this content. Creates missing folders.
inline void write_file(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}
inline void write_file(const std::filesystem::path& path, ByteView bytes) {
  write_file(path, as_text(bytes));
}

}  // namespace cubinet::test
