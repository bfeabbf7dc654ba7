// SPDX-License-Identifier: Apache-2.0
#include "support/temp_dir.hpp"

#include <cubinet/base/dynamic_library.hpp>
#include <cubinet/base/elf.hpp>
#include <cubinet/base/mapped_file.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

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

TEST_CASE("copies of a library are different libraries, whatever descriptors they were loaded by") {
  const auto library = DynamicLibrary::open("libm.so.6");
  REQUIRE(library);
  const auto first = DynamicLibrary::open_copy(*library);
  const auto second = DynamicLibrary::open_copy(*library);
  REQUIRE(first);
  REQUIRE(second);
  CHECK_FALSE(first->is_same_as(*second));
  // A program's own library by the path of a descriptor is not the copy that had this number.
  const test::TempDir folder;
  std::filesystem::copy_file(CUBINET_TEST_IMPORTS, folder / "imports.so");
  const int file = ::open((folder / "imports.so").c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(file >= 0);
  for (int number = file; number < file + 4; ++number) {
    const int wanted = number == file ? file : ::fcntl(file, F_DUPFD_CLOEXEC, number);
    const auto own = DynamicLibrary::open("/proc/self/fd/" + std::to_string(wanted));
    REQUIRE(own);
    CHECK(own->find("roll") != nullptr);
    if (wanted != file) ::close(wanted);
  }
  ::close(file);
}

TEST_CASE("a library above the limit of file sizes is not copied, and no signal is raised") {
  const auto library = DynamicLibrary::open("libm.so.6");
  REQUIRE(library);
  struct rlimit before = {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  struct rlimit small = before;
  small.rlim_cur = 4096;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const auto copy = DynamicLibrary::open_copy(*library);
  ::setrlimit(RLIMIT_FSIZE, &before);
  REQUIRE_FALSE(copy);
  CHECK(copy.error().code == ErrorCode::unavailable);
  CHECK(copy.error().message.find("File too large") != std::string::npos);
}

TEST_CASE("a library whose file was replaced or is incomplete is not loaded again") {
  const auto source = DynamicLibrary::open("libm.so.6");
  REQUIRE(source);
  const auto is_mapped = [](const std::string& name) {
    std::ifstream maps("/proc/self/maps");
    const std::string text((std::istreambuf_iterator<char>(maps)), std::istreambuf_iterator<char>());
    return text.find(name) != std::string::npos;
  };
  const test::TempDir folder;
  const std::filesystem::path file = folder / "libcopied.so";
  std::filesystem::copy_file(source->path(), file);
  const auto library = DynamicLibrary::open(file.string());
  REQUIRE(library);
  REQUIRE(library->build_id());
  const auto size = std::filesystem::file_size(file);
  // A file with a new inode, so that the loaded one stays.
  for (const bool is_other : {true, false}) {
    CAPTURE(is_other);
    std::filesystem::copy_file(is_other ? std::filesystem::path(CUBINET_TEST_IMPORTS) : source->path(),
                               folder / "new");
    if (!is_other) std::filesystem::resize_file(folder / "new", size / 2);
    std::filesystem::rename(folder / "new", file);
    const bool was_mapped = is_mapped("cubinet-library-");
    const auto copy = DynamicLibrary::open_copy(*library);
    REQUIRE_FALSE(copy);
    CHECK(copy.error().message.find("is not the file that was loaded any more") != std::string::npos);
    CHECK(is_mapped("cubinet-library-") == was_mapped);
  }
  std::filesystem::copy_file(source->path(), folder / "new");
  std::filesystem::rename(folder / "new", file);
  CHECK(DynamicLibrary::open_copy(*library));
}

TEST_CASE("a copy calls another function in place of an imported one from its beginning") {
  const auto library = DynamicLibrary::open(CUBINET_TEST_IMPORTS);
  REQUIRE(library);
  const auto roll_of = [](const DynamicLibrary& one) {
    return reinterpret_cast<int (*)()>(one.find("roll"));
  };
  const auto first_roll_of = [](const DynamicLibrary& one) {
    return *static_cast<const int*>(one.find("first_roll"));
  };
  int (*const seven)() = [] { return -7; };
  const auto copy = DynamicLibrary::open_copy(*library, {"rand", reinterpret_cast<void*>(seven)});
  REQUIRE(copy);
  CHECK(first_roll_of(*copy) == -7);  // a constructor of the library
  CHECK(roll_of(*copy)() == -7);
  CHECK(first_roll_of(*library) >= 0);
  CHECK(roll_of(*library)() >= 0);
  // A function that the library does not import has no effect.
  const auto same = DynamicLibrary::open_copy(*library, {"srand", reinterpret_cast<void*>(seven)});
  REQUIRE(same);
  CHECK(first_roll_of(*same) >= 0);
}

TEST_CASE("an imported function is redirected for one library alone") {
  const auto library = DynamicLibrary::open(CUBINET_TEST_IMPORTS);
  REQUIRE(library);
  const auto copy = DynamicLibrary::open_copy(*library);
  REQUIRE(copy);
  const auto roll_of = [](const DynamicLibrary& one) {
    return reinterpret_cast<int (*)()>(one.find("roll"));
  };
  int (*const four)() = [] { return 4; };
  CHECK(library->redirect("rand", reinterpret_cast<void*>(four)));
  CHECK(roll_of(*library)() == 4);
  CHECK(roll_of(*library)() == 4);
  int others = 0;
  for (int i = 0; i < 20; ++i)
    others += roll_of(*copy)() == 4 ? 0 : 1;
  CHECK(others > 0);
  CHECK_FALSE(library->redirect("srand", reinterpret_cast<void*>(four)));
}
