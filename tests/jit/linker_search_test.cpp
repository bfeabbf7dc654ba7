// SPDX-License-Identifier: Apache-2.0
#include "linker_search.hpp"

#include "support/temp_dir.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

using namespace cubinet;
namespace fs = std::filesystem;

namespace {

// Returns a compiler of this release in this folder, by the names of its files.
CompilerCandidate compiler_at(const fs::path& folder, const std::string& release) {
  return {CompilerCandidate::Source::toolkit, folder / "libnvrtc.so.12",
          folder / ("libnvrtc-builtins.so." + release)};
}

// Adds a linker of release 12.10.
void put_linker(const fs::path& folder, const char* name = "libnvJitLink.so.12") {
  fs::create_directories(folder);
  fs::copy_file(CUBINET_TEST_NVJITLINK, folder / name);
}

}  // namespace

TEST_CASE("a linker tells its release by its newest functions") {
  CHECK(linker_version(CUBINET_TEST_NVJITLINK) == NvrtcVersion{12, 10});
  CHECK(linker_version(CUBINET_TEST_BROKEN_NVJITLINK) == NvrtcVersion{13, 7});
  const test::TempDir folder;
  CHECK_FALSE(linker_version(folder / "none"));
  std::ofstream(folder / "text") << "__nvJitLinkCreate_13_0";
  CHECK_FALSE(linker_version(folder / "text"));
}

TEST_CASE("the linker beside the compiler goes before others, in a wheel of its own too") {
  const test::TempDir folder;
  const fs::path beside = folder / "toolkit/lib64";
  const fs::path other = folder / "other/lib64";
  put_linker(beside);
  put_linker(other);
  CompilerSearch search;
  search.toolkit_roots = {folder / "other"};
  const auto found = find_linker(compiler_at(beside, "12.4"), search);
  REQUIRE_MESSAGE(found.has_value(), found.error().to_line());
  CHECK(found->library == fs::canonical(beside / "libnvJitLink.so.12"));
  CHECK(found->identity.starts_with("nvJitLink 12.10, build "));
  const auto wheels = linker_folders(compiler_at("/w/nvidia/cuda_nvrtc/lib", "12.4"), search);
  CHECK(wheels[0] == "/w/nvidia/cuda_nvrtc/lib");
  CHECK(wheels[1] == "/w/nvidia/nvjitlink/lib");
  CHECK(std::find(wheels.begin(), wheels.end(), other) != wheels.end());
}

TEST_CASE("a linker that is older than its compiler is passed over, and told where there is no other") {
  const test::TempDir folder;
  put_linker(folder / "a");
  const auto refused = linker_in(compiler_at(folder / "a", "13.0"), {folder / "a"});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::unavailable);  // a linker of 12 is not examined
  const auto old = linker_in(compiler_at(folder / "a", "12.11"), {folder / "a"});
  REQUIRE_FALSE(old);
  CHECK(old.error().code == ErrorCode::unsupported);
  for (const char* told : {"nvJitLink 12.10", "NVRTC 12.11"})
    CHECK_MESSAGE(old.error().message.find(told) != std::string::npos, old.error().message);
  CHECK(old.error().remedy.find("nvidia-nvjitlink") != std::string::npos);
  fs::create_directories(folder / "b");
  fs::copy_file(CUBINET_TEST_BROKEN_NVJITLINK, folder / "b/libnvJitLink.so.13");
  const auto newer = linker_in(compiler_at(folder / "a", "12.11"), {folder / "a", folder / "b"});
  REQUIRE_MESSAGE(newer.has_value(), newer.error().to_line());
  CHECK(newer->identity.starts_with("nvJitLink 13.7"));
}

TEST_CASE("no linker is told with the places") {
  const auto none = linker_in(compiler_at("/a", "13.0"), {"/a", "/b/c"});
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::unavailable);
  CHECK(none.error().message.find("/a, /b/c") != std::string::npos);
  CHECK(none.error().remedy.find("nvidia-nvjitlink") != std::string::npos);
}
