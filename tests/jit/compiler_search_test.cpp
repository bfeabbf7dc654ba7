// SPDX-License-Identifier: Apache-2.0
#include "compiler_search.hpp"

#include "support/compiler_search.hpp"
#include "support/temp_dir.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

using namespace cubinet;
namespace fs = std::filesystem;
using Source = CompilerCandidate::Source;

namespace {

void touch(const fs::path& path) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << path.filename().string();
}

// Returns the compilers found below the given folder. The machine's own search path adds others
// after them.
std::vector<CompilerCandidate> found_in(const fs::path& below, const CompilerSearch& search) {
  std::vector<CompilerCandidate> candidates;
  for (CompilerCandidate& candidate : find_compilers(search)) {
    if (candidate.library.starts_with(fs::canonical(below).string())) candidates.push_back(candidate);
  }
  return candidates;
}

CompilerSearch search_of(std::vector<std::string> toolkits, std::vector<std::string> wheels) {
  CompilerSearch search;
  search.toolkit_roots = std::move(toolkits);
  search.wheel_roots = std::move(wheels);
  return search;
}

}  // namespace

TEST_CASE("what somebody named comes before the usual toolkit, a toolkit before a wheel") {
  const test::TempDir folder;
  for (const char* name : {"usual/lib64", "wheel/nvidia/cu13/lib", "toolkit/lib64"}) {
    touch(folder / name / "libnvrtc.so.13");
    touch(folder / name / "libnvrtc-builtins.so.13.0");
  }
  CompilerSearch search = search_of({folder / "toolkit"}, {folder / "wheel"});
  search.usual_toolkits = {folder / "usual"};
  const auto found = found_in(folder.path(), search);
  REQUIRE(found.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string place = std::vector<std::string>{"toolkit", "wheel", "usual"}[i];
    CHECK(found[i].library.starts_with((fs::canonical(folder.path()) / place).string()));
  }
}

TEST_CASE("toolkits come before wheels, newer releases of one place before older ones") {
  const test::TempDir folder;
  for (const char* name :
       {"toolkit/lib64/libnvrtc.so.12", "toolkit/lib64/libnvrtc.so.13",
        "toolkit/lib64/libnvrtc-builtins.so.12.9", "toolkit/lib64/libnvrtc-builtins.so.13.0",
        "wheel/nvidia/cu13/lib/libnvrtc.so.13", "wheel/nvidia/cu13/lib/libnvrtc-builtins.so.13.1",
        "wheel/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
        "wheel/nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.4"}) {
    touch(folder / name);
  }
  const auto found = found_in(folder.path(), search_of({folder / "toolkit"}, {folder / "wheel"}));
  REQUIRE(found.size() == 4);
  CHECK(found[0].source == Source::toolkit);
  CHECK(fs::path(found[0].library).filename() == "libnvrtc.so.13");
  CHECK(fs::path(found[0].builtins).filename() == "libnvrtc-builtins.so.13.0");
  CHECK(fs::path(found[1].builtins).filename() == "libnvrtc-builtins.so.12.9");
  CHECK(found[2].source == Source::wheel);
  CHECK(fs::path(found[2].builtins).filename() == "libnvrtc-builtins.so.13.1");
  CHECK(fs::path(found[3].builtins).filename() == "libnvrtc-builtins.so.12.4");
  CHECK(to_string(found[0].source) == "toolkit");
}

TEST_CASE("one file behind several names is one compiler") {
  const test::TempDir folder;
  touch(folder / "real/libnvrtc.so.13.0.88");
  touch(folder / "real/libnvrtc-builtins.so.13.0");
  fs::create_symlink(folder / "real/libnvrtc.so.13.0.88", folder / "real/libnvrtc.so.13");
  fs::create_directories(folder / "a");
  fs::create_directory_symlink(folder / "real", folder / "a/lib64");
  fs::create_directory_symlink(folder / "real", folder / "a/lib");
  const auto found = found_in(folder.path(), search_of({folder / "a"}, {}));
  REQUIRE(found.size() == 1);
  CHECK(found[0].library == fs::canonical(folder / "real/libnvrtc.so.13.0.88"));
}

TEST_CASE("the builtins are those of the same release where the name of the library tells it") {
  const test::TempDir folder;
  touch(folder / "lib64/libnvrtc.so.12.4.127");
  fs::create_symlink(folder / "lib64/libnvrtc.so.12.4.127", folder / "lib64/libnvrtc.so.12");
  for (const char* name :
       {"libnvrtc-builtins.so.12.4", "libnvrtc-builtins.so.12.9", "libnvrtc-builtins.so.13.0",
        "libnvrtc-builtins.alt.so.12.9", "libnvrtc-builtins.so", "libnvrtc-builtins.so.x"}) {
    touch(folder / "lib64" / name);
  }
  const auto found = found_in(folder.path(), search_of({folder.path()}, {}));
  REQUIRE(found.size() == 1);
  CHECK(fs::path(found[0].builtins).filename() == "libnvrtc-builtins.so.12.4");
  CHECK(*version_by_file_name(found[0]) == NvrtcVersion{12, 4});
}

TEST_CASE("a library that is named is the only one looked at") {
  const test::TempDir folder;
  touch(folder / "libnvrtc.so.13");
  CompilerSearch search;
  search.library = folder / "libnvrtc.so.13";
  const auto found = find_compilers(search);
  REQUIRE(found.size() == 1);
  CHECK(found[0].source == Source::option);
  CHECK(found[0].builtins.empty());
  CHECK(places_searched(search) == std::vector<std::string>{folder / "libnvrtc.so.13"});
  search.library = folder / "absent.so";
  CHECK(find_compilers(search).empty());
  search.library = folder.path();
  CHECK(find_compilers(search).empty());
}

TEST_CASE("a compiler that is missing, incomplete, too old or no library is refused with the reason") {
  const test::TempDir folder;
  CompilerSearch search;
  search.library = folder / "libnvrtc.so.13";
  const auto missing = Compiler::open(search);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::unavailable);
  CHECK(missing.error().message.find(*search.library) != std::string::npos);
  for (const char* way :
       {"`CompilerSearch::toolkit_roots`", "`CompilerSearch::wheel_roots`", "`CompilerSearch::library`"}) {
    CAPTURE(way);
    CHECK(missing.error().remedy.find(way) != std::string::npos);
  }

  touch(folder / "libnvrtc.so.13");
  const auto incomplete = Compiler::open(search);
  REQUIRE_FALSE(incomplete);
  CHECK(incomplete.error().code == ErrorCode::unavailable);
  CHECK(incomplete.error().message.find("libnvrtc-builtins") != std::string::npos);

  touch(folder / "libnvrtc-builtins.so.13.0");
  const auto text = Compiler::open(search);
  REQUIRE_FALSE(text);
  CHECK(text.error().code == ErrorCode::unavailable);
  CHECK(text.error().message.find("no shared library") != std::string::npos);

  touch(folder / "old/libnvrtc.so.11.2");
  search.library = folder / "old/libnvrtc.so.11.2";
  const auto old = Compiler::open(search);
  REQUIRE_FALSE(old);
  CHECK(old.error().code == ErrorCode::unsupported);
  CHECK(old.error().message.find("11.2") != std::string::npos);
}

TEST_CASE("a compiler of CUDA 11 is found where there is nothing else, and is refused by name") {
  const test::TempDir folder;
  touch(folder / "old/libnvrtc.so.11.8.89");
  fs::create_symlink(folder / "old/libnvrtc.so.11.8.89", folder / "old/libnvrtc.so.11.2");
  touch(folder / "old/libnvrtc-builtins.so.11.8");
  const std::vector<CompilerPlace> places = {{Source::toolkit, folder / "old"},
                                             {Source::wheel, folder / "new"}};
  const auto old = compilers_in(places);
  REQUIRE(old.size() == 1);
  CompilerSearch search;
  search.library = old[0].library;
  const auto refused = Compiler::open(search);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::unsupported);
  CHECK(refused.error().message.find("NVRTC 11.8, which is too old") != std::string::npos);

  touch(folder / "new/libnvrtc.so.12");
  const auto found = compilers_in(places);
  REQUIRE(found.size() == 1);
  CHECK(fs::path(found[0].library).filename() == "libnvrtc.so.12");
}

TEST_CASE("the places of a search end with those of the dynamic loader") {
  const auto places = places_searched(search_of({"/toolkit"}, {"/wheel"}));
  REQUIRE(places.size() > 4);
  CHECK(places[0] == "/toolkit/lib64");
  CHECK(places[1] == "/toolkit/lib");
  CHECK(places[2] == "/wheel/nvidia/cu13/lib");
  CHECK(places[3] == "/wheel/nvidia/cuda_nvrtc/lib");
}

TEST_CASE("a place that is named twice is searched once") {
  const auto places = places_searched(search_of({"/toolkit", "/toolkit"}, {"/wheel", "/wheel"}));
  REQUIRE(places.size() >= 4);
  CHECK(places[3] == "/wheel/nvidia/cuda_nvrtc/lib");
  CHECK(std::count(places.begin(), places.end(), "/toolkit/lib64") == 1);
}

TEST_CASE("device libraries lie beside the compiler, or in the wheel beside its own") {
  CHECK(library_folders({Source::wheel, "/w/nvidia/cuda_nvrtc/lib/libnvrtc.so.12", {}}) ==
        std::vector<std::string>{"/w/nvidia/cuda_nvrtc/lib", "/w/nvidia/cuda_runtime/lib"});
  CHECK(library_folders({Source::toolkit, "/usr/local/cuda/lib64/libnvrtc.so.12", {}}) ==
        std::vector<std::string>{"/usr/local/cuda/lib64"});
}

TEST_CASE("tests look first into the CUDA that they were built with, or into that of where they are now") {
  const char* given = std::getenv("CUBINET_TEST_CUDA_ROOT");
  const std::string before = given == nullptr ? "" : given;
  CHECK(places_searched(test::compiler_search()).front() == fs::path(test::cuda_root()) / "lib64");
  ::setenv("CUBINET_TEST_CUDA_ROOT", "/moved/wheels", 1);
  CHECK(places_searched(test::compiler_search()).front() == "/moved/wheels/lib64");
  ::unsetenv("CUBINET_TEST_CUDA_ROOT");
  if (given != nullptr) ::setenv("CUBINET_TEST_CUDA_ROOT", before.c_str(), 1);
}
