// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/dynamic_library.hpp>
#include <cubinet/base/elf.hpp>
#include <cubinet/base/mapped_file.hpp>

#include <doctest/doctest.h>

#include <algorithm>

namespace cubinet {
namespace {

TEST_CASE("a library is opened by soname and tells where it lies") {
  const auto library = DynamicLibrary::open("libm.so.6");
  REQUIRE(library);
  CHECK(library->find("cos") != nullptr);
  CHECK(library->find("cubinet_no_such_symbol") == nullptr);
  CHECK(library->path().is_absolute());
}

TEST_CASE("a library that is not there is unavailable, with the reason of the system") {
  const auto library = DynamicLibrary::open("libcubinet-not-there.so.9");
  REQUIRE_FALSE(library);
  CHECK(library.error().code == ErrorCode::unavailable);
  CHECK(library.error().message.find("libcubinet-not-there.so.9") != std::string::npos);
  CHECK_FALSE(library.error().detail.empty());
}

TEST_CASE("a moved library keeps its symbols") {
  auto library = DynamicLibrary::open("libm.so.6");
  REQUIRE(library);
  const DynamicLibrary moved = *std::move(library);
  CHECK(moved.find("sin") != nullptr);
}

TEST_CASE("a library that the process has is found by its soname, and nothing is loaded for one it has not") {
  CHECK_FALSE(DynamicLibrary::find_loaded("libcubinet-not-there.so.9"));
  const auto opened = DynamicLibrary::open("libm.so.6");
  REQUIRE(opened);
  const auto found = DynamicLibrary::find_loaded("libm.so.6");
  REQUIRE(found);
  CHECK(found->is_same_as(*opened));
  CHECK(found->path() == opened->path());
  const auto other = DynamicLibrary::open("libc.so.6");
  REQUIRE(other);
  CHECK_FALSE(other->is_same_as(*opened));
}

TEST_CASE("the build id of a library in memory is that of its file") {
  for (const char* soname : {"libm.so.6", "libc.so.6"}) {
    const auto library = DynamicLibrary::open(soname);
    REQUIRE(library);
    const auto file = MappedFile::open(library->path());
    REQUIRE(file);
    const auto elf = ElfImage::parse(file->content());
    REQUIRE(elf);
    const auto expected = elf_build_id(*elf);
    REQUIRE(expected);
    CHECK(library->build_id() == *expected);
    CHECK(library->build_id().has_value());
  }
}

TEST_CASE("the search path of the loader holds the folder of a library it finds, and each folder once") {
  const auto library = DynamicLibrary::open("libm.so.6");
  REQUIRE(library);
  const auto found = std::filesystem::canonical(library->path());
  const auto folders = dynamic_loader_search_path();
  bool holds = false;
  for (const auto& folder : folders) {
    std::error_code ignored;
    holds = holds || std::filesystem::canonical(folder / "libm.so.6", ignored) == found;
    CHECK(std::count(folders.begin(), folders.end(), folder) == 1);
  }
  CHECK(holds);
}

}  // namespace
}  // namespace cubinet

TEST_CASE("a copy of a library has its own state") {
  const auto library = DynamicLibrary::open("libm.so.6");
  REQUIRE(library);
  const auto copy = DynamicLibrary::open_copy(*library);
  REQUIRE(copy);
  CHECK_FALSE(copy->is_same_as(*library));
  CHECK(copy->build_id() == library->build_id());
  CHECK(copy->find("cos") != nullptr);
  CHECK(copy->find("cos") != library->find("cos"));
}
