// SPDX-License-Identifier: Apache-2.0
#include "device_library.hpp"

#include "support/fake_cubin.hpp"
#include "support/fake_fatbin.hpp"
#include "support/temp_dir.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <fstream>
#include <sys/stat.h>

using namespace cubinet;
namespace fs = std::filesystem;

namespace {

Bytes to_bytes(std::string_view text) {
  const ByteView view = as_bytes(text);
  return Bytes(view.begin(), view.end());
}

void write_text(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

// An archive of members with these contents.
std::string archive(const std::vector<std::string>& members) {
  std::string text = "!<arch>\n";
  for (const std::string& member : members) {
    std::string size = std::to_string(member.size());
    size.resize(10, ' ');
    text += std::string("a.o/            0           0     0     644     ") + size + "`\n" + member;
    if (member.size() % 2 != 0) text += '\n';
  }
  return text;
}

std::string fatbin(const std::vector<test::FakeFatbinPart>& parts) {
  return std::string(as_text(test::make_fake_fatbin(parts)));
}

Result<void> checked(LinkInputKind kind, const std::string& text) {
  return check_link_input(kind, as_bytes(text));
}

}  // namespace

TEST_CASE("a library is found by its short name or its file, in the first folder that has it") {
  const test::TempDir folder;
  write_text(folder / "a/libmine.a", archive({"one"}));
  write_text(folder / "b/libmine.a", archive({"another"}));
  write_text(folder / "b/more.fatbin", fatbin({{1, to_bytes(".version 9.0")}}));
  write_text(folder / "b/code.ltoir", "ir");
  write_text(folder / "b/text.ptx", ".version 9.0");
  const auto found =
      find_device_libraries({"mine", "more.fatbin", "code.ltoir", "text.ptx"}, {folder / "a", folder / "b"});
  REQUIRE_MESSAGE(found.has_value(), found.error().to_line());
  REQUIRE(found->libraries.size() == 4);
  CHECK(as_text(found->libraries[0].content) == archive({"one"}));
  CHECK(found->libraries[0].kind == LinkInputKind::archive);
  CHECK(found->libraries[1].kind == LinkInputKind::fatbin);
  CHECK(found->libraries[2].kind == LinkInputKind::lto_ir);
  CHECK(as_text(found->libraries[3].content) == std::string_view(".version 9.0\0", 13));
  // Contents count, and places do not.
  write_text(folder / "c/libmine.a", archive({"one"}));
  const auto digest_of = [&](const char* place, const char* name) {
    return find_device_libraries({name}, {folder / place})->digest;
  };
  CHECK(digest_of("a", "mine") == digest_of("c", "mine"));
  CHECK(digest_of("a", "mine") != digest_of("b", "mine"));
  CHECK(digest_of("a", "mine") != digest_of("a", "libmine.a"));
}

TEST_CASE("a library that is nowhere is told with its file, the places and what to do") {
  const auto missing = find_device_libraries({"cudadevrt"}, {"/nowhere", "/else/where"});
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::unavailable);
  for (const char* told : {"'cudadevrt'", "libcudadevrt.a", "'/nowhere', '/else/where'"})
    CHECK_MESSAGE(missing.error().message.find(told) != std::string::npos, missing.error().message);
  CHECK(missing.error().remedy.find("nvidia-cuda-runtime") != std::string::npos);
}

TEST_CASE("what is no regular file is no library") {
  const test::TempDir folder;
  REQUIRE(::mkfifo((folder / "libpipe.a").c_str(), 0600) == 0);
  fs::create_directory(folder / "libfolder.a");
  for (const char* name : {"pipe", "folder"}) {
    const auto refused = find_device_libraries({name}, {folder.path()});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::unavailable);
  }
}

TEST_CASE("an archive that ends anywhere but behind a member is damaged") {
  const std::string whole = archive({"", "odd", "even", std::string(999, 'x')});
  CHECK(checked(LinkInputKind::archive, whole));
  std::size_t accepted = 0;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto result = checked(LinkInputKind::archive, whole.substr(0, length));
    if (result) ++accepted;
    if (!result) CHECK(result.error().code == ErrorCode::corruption);
  }
  // Behind the magic and three members; the last filling may be missing, and that of "odd".
  CHECK(accepted == 6);
  for (const char* size : {"-1        ", "1x        ", "99999999999", "          "}) {
    std::string text = archive({"even"});
    text.replace(8 + 48, 10, std::string(size).substr(0, 10));
    CHECK_FALSE(checked(LinkInputKind::archive, text));
  }
}

TEST_CASE("each image of a fatbin is whole, or the linker does not see it") {
  test::FakeCubin fake;
  fake.kernels = {{"kernel", 16}};
  const Bytes cubin = test::make_fake_cubin(fake);
  const Bytes half(cubin.begin(), cubin.begin() + static_cast<std::ptrdiff_t>(cubin.size() / 2));
  for (const auto packing :
       {test::FatbinPacking::none, test::FatbinPacking::lz4, test::FatbinPacking::zstd}) {
    const std::string whole = fatbin({{2, cubin, packing}, {1, to_bytes(".version 9.0"), packing}});
    CHECK(checked(LinkInputKind::fatbin, whole));
    CHECK_FALSE(checked(LinkInputKind::fatbin, fatbin({{2, half, packing}})));
    for (std::size_t size = 0; size < whole.size(); size += 7)
      CHECK_FALSE(checked(LinkInputKind::fatbin, whole.substr(0, size)));
  }
  CHECK(checked(LinkInputKind::fatbin, fatbin({{8, to_bytes("LTO IR")}})));
}

TEST_CASE("a file is what its name says, with all that its header promises") {
  CHECK_FALSE(checked(LinkInputKind::fatbin, "text"));
  CHECK_FALSE(checked(LinkInputKind::object, "text"));
  CHECK_FALSE(checked(LinkInputKind::cubin, "\177ELF"));
  CHECK_FALSE(checked(LinkInputKind::archive, archive({"\177ELF and no more"})));
  CHECK_FALSE(checked(LinkInputKind::lto_ir, ""));
  const test::TempDir folder;
  write_text(folder / "libmine.a", "text");
  const auto refused = find_device_libraries({"mine"}, {folder.path()});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::corruption);
  CHECK(refused.error().message.find((folder / "libmine.a").string()) != std::string::npos);
}

TEST_CASE("an archive of ten thousand members takes no time") {
  const test::TempDir folder;
  write_text(folder / "libmany.a", archive(std::vector<std::string>(10'000, std::string(100, 'x'))));
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(find_device_libraries({"many"}, {folder.path()}));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(2));
}

TEST_CASE(
    "a digest is kept while the file stays, and one that is replaced or comes to lie before it is seen") {
  const test::TempDir folder;
  fs::create_directory(folder / "a");
  write_text(folder / "b/libmine.a", archive({"one"}));
  DeviceLibraryCache cache;
  const auto digest = [&] {
    const auto told = cache.digest({"mine"}, {folder / "a", folder / "b"});
    REQUIRE_MESSAGE(told.has_value(), told.error().to_line());
    return *told;
  };
  const Sha256Digest before = digest();
  CHECK(digest() == before);
  write_text(folder / "b/libmine.a", archive({"two"}));  // as long as before
  const Sha256Digest after = digest();
  CHECK(after != before);
  write_text(folder / "a/libmine.a", archive({"one"}));
  CHECK(digest() == before);
  fs::remove(folder / "a/libmine.a");
  CHECK(digest() == after);
}
