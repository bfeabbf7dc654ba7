// SPDX-License-Identifier: Apache-2.0
#include "imported/file_index.hpp"

#include <doctest/doctest.h>

#include <string>

namespace cubinet::test {
namespace {

ArtifactFile file_of(int number) {
  const std::string name = std::to_string(number);
  return {name, sha256(as_bytes(name)), 1};
}

TEST_CASE("every file is found by its digest, and no other digest finds one") {
  std::vector<ArtifactFile> files;
  for (int number = 0; number < 1'000; ++number) {
    const FileIndex index(files);
    CHECK(index.find(file_of(number).digest) == nullptr);
    files.push_back(file_of(number));
  }
  const FileIndex index(files);
  for (const ArtifactFile& file : files)
    CHECK(index.find(file.digest) == &file);
  CHECK(FileIndex().find(files[0].digest) == nullptr);
}

TEST_CASE("digests that begin alike are told apart, and of equal ones the first file is found") {
  std::vector<ArtifactFile> files(5, file_of(1));
  for (std::size_t i = 0; i < 3; ++i)
    files[i].digest.bytes[31] = static_cast<std::byte>(i);
  const FileIndex index(files);
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(index.find(files[i].digest) == &files[i]);
  CHECK(index.find(files[4].digest) == &files[3]);
}

}  // namespace
}  // namespace cubinet::test
