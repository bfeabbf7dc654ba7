// SPDX-License-Identifier: Apache-2.0
#include "artifacts/published_folder.hpp"
#include "support/skip.hpp"

#include <cubinet/artifacts/artifact_folder.hpp>

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

using namespace cubinet;
using namespace cubinet::test;

namespace {

namespace fs = std::filesystem;

void touch(const fs::path& path) {
  fs::create_directories(path.parent_path());
  write_file(path, "");
}

ArtifactFolders found_at(const fs::path& path) {
  auto found = find_artifact_folders(path);
  REQUIRE_MESSAGE(found, found.error().message);
  return *std::move(found);
}

}  // namespace

TEST_CASE("a list, a header or cubins make an artifact folder, and a root holds all that lie below it") {
  const TempDir root;
  touch(root / "one/fmha/trtllm-gen/checksums.txt");
  touch(root / "one/fmha/trtllm-gen/a.cubin");
  touch(root / "one/fmha/trtllm-gen/include/flashInferMetaInfo.h");
  touch(root / "two/gemm/include/flashinferMetaInfo.h");
  touch(root / "two/gemm/include/inner/other.h");
  touch(root / "two/gemm/Gemm_x.cubin");
  touch(root / "two/gemm/Gemm_x.cubin.lock");
  touch(root / "three/deep/kernel.cubin");
  touch(root / "four/readme.txt");
  touch(root / "five/kernelMetaInfo.h");
  const ArtifactFolders found = found_at(root.path());
  REQUIRE(found.folders.size() == 4);
  CHECK(found.unreadable.empty());
  CHECK(found.folders[0].path == fs::canonical(root / "five"));
  CHECK(found.folders[0].headers == std::vector<std::string>{"kernelMetaInfo.h"});
  CHECK(found.folders[1].path == fs::canonical(root / "one/fmha/trtllm-gen"));
  CHECK(found.folders[1].has_checksums);
  CHECK(found.folders[1].headers == std::vector<std::string>{"include/flashInferMetaInfo.h"});
  CHECK(found.folders[1].cubins == std::vector<std::string>{"a.cubin"});
  CHECK(found.folders[2].path == fs::canonical(root / "three/deep"));
  CHECK_FALSE(found.folders[2].has_checksums);
  CHECK(found.folders[3].cubins == std::vector<std::string>{"Gemm_x.cubin"});
  CHECK(found.folders[3].lock_files == std::vector<std::string>{"Gemm_x.cubin.lock"});
  CHECK(found_at(root / "two/gemm").folders.size() == 1);
  CHECK(found_at(root / "four").folders.empty());
}

TEST_CASE("what lies below an artifact folder is part of it unless it is one itself") {
  const TempDir root;
  touch(root / "checksums.txt");
  touch(root / "a.cubin");
  touch(root / "sub/b.cubin");
  touch(root / "sub/own/checksums.txt");
  touch(root / "sub/own/c.cubin");
  touch(root / "sub/own/deeper/d.cubin");
  const ArtifactFolders found = found_at(root.path());
  REQUIRE(found.folders.size() == 2);
  CHECK(found.folders[0].cubins == std::vector<std::string>{"a.cubin", "sub/b.cubin"});
  CHECK(found.folders[1].cubins == std::vector<std::string>{"c.cubin", "deeper/d.cubin"});
}

TEST_CASE("links to folders are not followed, so there are no loops") {
  const TempDir root;
  touch(root / "a/checksums.txt");
  fs::create_directory_symlink(root.path(), root / "a/loop");
  fs::create_directory_symlink(".", root / "self");
  fs::create_symlink("nowhere", root / "a/dangling.cubin");
  const ArtifactFolders found = found_at(root.path());
  REQUIRE(found.folders.size() == 1);
  CHECK(found.folders[0].cubins == std::vector<std::string>{"dangling.cubin"});
  // The root itself may be one: two names of a folder are one folder.
  CHECK(found_at(root / "self/a").folders[0].path == found.folders[0].path);
}

TEST_CASE("names may be any bytes, and whatever bears the name of a cubin is listed") {
  const TempDir root;
  touch(root / "line\nbreak\xff.cubin");
  REQUIRE(::mkfifo((root / "fifo.cubin").c_str(), 0600) == 0);
  fs::create_directory(root / "folder.cubin");
  const ArtifactFolders found = found_at(root.path());
  REQUIRE(found.folders.size() == 1);
  CHECK(found.folders[0].cubins == std::vector<std::string>{"fifo.cubin", "line\nbreak\xff.cubin"});
}

TEST_CASE("folders nested without end are reported, and what lies above them is found") {
  const TempDir root;
  touch(root / "checksums.txt");
  fs::path deep = root.path();
  for (int i = 0; i < 40; ++i)
    deep /= "d";
  fs::create_directories(deep);
  const ArtifactFolders found = found_at(root.path());
  CHECK(found.folders.size() == 1);
  REQUIRE(found.unreadable.size() == 1);
  CHECK(found.unreadable[0].reason.find("32") != std::string::npos);
}

TEST_CASE("a folder that cannot be read is reported, the others are found") {
  if (::geteuid() == 0) return skip("root may read every folder");
  const TempDir root;
  touch(root / "a/x.cubin");
  touch(root / "b/x.cubin");
  fs::permissions(root / "a", fs::perms::none);
  const ArtifactFolders found = found_at(root.path());
  CHECK(found.folders.size() == 1);
  CHECK(found.unreadable.size() == 1);
  fs::permissions(root / "a", fs::perms::owner_all);
}

TEST_CASE("a path that is not there, or is no folder, is an error") {
  const TempDir root;
  touch(root / "file");
  CHECK(find_artifact_folders(root / "none").error().code == ErrorCode::not_found);
  CHECK(find_artifact_folders(root / "file/none").error().code == ErrorCode::not_found);
  CHECK(find_artifact_folders(root / "file").error().code == ErrorCode::invalid_argument);
  touch(root / "a.whl");
  const auto wheel = find_artifact_folders(root / "a.whl");
  CHECK(wheel.error().remedy.find("python3 -m zipfile -e") != std::string::npos);
}
