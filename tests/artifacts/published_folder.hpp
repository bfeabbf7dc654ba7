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

// One kernel of a published folder: its cubin, and what its row says of it.
struct PublishedKernel {
  std::string function;
  Bytes image;
  std::string target = "kSM_100f";  // as headers write it
  unsigned page = 32;
  unsigned scheduler = 0;
  std::string digest = {};  // empty: the image's
  unsigned threads = 512;
};

// Of the published grammar, so that the name says what the row does: "fmhaSm100fKernel_…P32…".
std::string published_name(std::string_view arch, unsigned page, std::string_view scheduler = "Static");
// A made-up cubin of a function and its companion, as published ones hold.
Bytes published_image(const std::string& function, SmTarget target, std::uint8_t filler = 1);
// A kernel whose name, row and cubin agree; `arch` is "100f", "100a" or "103a".
PublishedKernel published_kernel(std::string_view arch, unsigned page);

// A folder as it is published: cubins, include/flashInferMetaInfo.h, checksums.txt.
class PublishedFolder {
 public:
  explicit PublishedFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

  void add(PublishedKernel kernel) { kernels_.push_back(std::move(kernel)); }
  PublishedKernel& kernel(std::size_t number) { return kernels_[number]; }

  // Writes the cubins, the header with a row a kernel, and the list of all of them.
  void write() const;
  void write_cubins() const;
  void write_header() const;
  void write_list() const;  // of what lies in the folder now

 private:
  std::filesystem::path path_;
  std::vector<PublishedKernel> kernels_;
};

// Six kernels: pages 16, 32 and 64 for 100f, one each for 100a and 103a, and one of the family that
// has a specific twin.
PublishedFolder sound_folder(const std::filesystem::path& path);

std::string read_file(const std::filesystem::path& path);
void flip_bit_at(const std::filesystem::path& path, std::size_t offset);
// Lets the clock of file times move on, so that files that were just written may be remembered.
void let_files_settle();

}  // namespace cubinet::test
