// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/fake_cubin.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/base/sha256.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet::test {

// One kernel of a published folder: its cubin and the contents of its row.
struct PublishedKernel {
  std::string function;
  Bytes image;
  std::string target = "kSM_100f";  // as spelled in headers
  unsigned page = 32;
  unsigned scheduler = 0;
  std::string digest = {};  // empty: the image's digest
  unsigned threads = 512;
};

// Returns a name of the published grammar that agrees with the row: "fmhaSm100fKernel_…P32…".
std::string published_name(std::string_view arch, unsigned page, std::string_view scheduler = "Static");
// Returns a made-up cubin of a function and its companion, as published cubins hold.
Bytes published_image(const std::string& function, SmTarget target, std::uint8_t filler = 1);
// Returns a kernel whose name, row and cubin agree. `arch` is "100f", "100a" or "103a".
PublishedKernel published_kernel(std::string_view arch, unsigned page);

// A folder in the published layout: cubins, include/flashInferMetaInfo.h, checksums.txt.
class PublishedFolder {
 public:
  explicit PublishedFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

  void add(PublishedKernel kernel) { kernels_.push_back(std::move(kernel)); }
  PublishedKernel& kernel(std::size_t number) { return kernels_[number]; }

  // Writes the cubins, the header with one row per kernel, and the list of all files.
  void write() const;
  void write_cubins() const;
  void write_header() const;
  void write_list() const;  // of the files in the folder

 private:
  std::filesystem::path path_;
  std::vector<PublishedKernel> kernels_;
};

// Returns a folder with six kernels: pages 16, 32 and 64 for 100f, one each for 100a and 103a, and
// one family kernel that has a specific twin.
PublishedFolder sound_folder(const std::filesystem::path& path);

std::string read_file(const std::filesystem::path& path);
void flip_bit_at(const std::filesystem::path& path, std::size_t offset);
// Waits until the clock of file times has advanced, so that files that were just written may be
// remembered.
void let_files_settle();

}  // namespace cubinet::test
