// SPDX-License-Identifier: Apache-2.0
#include "support/temp_dir.hpp"

#include <cubinet/base/file_system.hpp>

#include <doctest/doctest.h>

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sys/stat.h>

namespace cubinet {
namespace {

namespace fs = std::filesystem;
using test::TempDir;

TEST_CASE("an atomic write replaces the old content and leaves no other file behind") {
  const TempDir folder;
  const auto files = posix_file_system();
  REQUIRE(write_file_atomically(*files, folder / "f", as_bytes("old")));
  REQUIRE(write_file_atomically(*files, folder / "f", as_bytes("new")));
  CHECK(as_text(*files->read(folder / "f", 10)) == "new");
  CHECK(files->list(folder.path())->names.size() == 1);
  CHECK_FALSE(write_file_atomically(*files, folder / "none" / "f", as_bytes("x")));
}

TEST_CASE("an atomic write does not replace a device or a pipe") {
  const TempDir folder;
  const auto files = posix_file_system();
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const auto written = write_file_atomically(*files, folder / "pipe", as_bytes("x"));
  REQUIRE_FALSE(written);
  CHECK(written.error().code == ErrorCode::invalid_argument);
  CHECK(fs::is_fifo(folder / "pipe"));
}

TEST_CASE("temporary names do not repeat") {
  CHECK(temporary_path_beside("/a/b") != temporary_path_beside("/a/b"));
  CHECK(temporary_path_beside("/a/b").parent_path() == "/a");
}

TEST_CASE("only the names of temporary files are taken for temporary") {
  CHECK(is_temporary_path(temporary_path_beside("/a/b")));
  CHECK(is_temporary_path(temporary_path_beside("/a/b.1.tmp")));
  CHECK(is_temporary_path(".b.1.2.3.tmp"));
  for (const char* name : {".b.tmp", ".b.1.2.tmp", "b.1.2.3.tmp", ".1.2.3.tmp", ".b.1..3.tmp", ".b.1.x.3.tmp",
                           ".b.1.2.3.tmpx", "..1.2.3.tmp", ".tmp", ""})
    CHECK_MESSAGE(!is_temporary_path(name), name);
}

TEST_CASE("a time that nanoseconds cannot hold is the nearest that they can") {
  CHECK(nanoseconds({1, 2}) == 1'000'000'002);
  CHECK(nanoseconds({-1, 2}) == -999'999'998);
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  CHECK(nanoseconds({10'000'000'000, 0}) == kLast);  // in 2286
  CHECK(nanoseconds({std::numeric_limits<time_t>::max(), 999'999'999}) == kLast);
  const std::int64_t first = nanoseconds({std::numeric_limits<time_t>::min(), 0});
  CHECK(first < nanoseconds({-4'000'000'000, 0}));
  CHECK(kLast / 2 - first > 0);  // no overflow
  const TempDir folder;
  std::ofstream(folder / "f") << "x";
  const timespec far{10'000'000'000, 0};
  const timespec times[2] = {far, far};
  REQUIRE(::utimensat(AT_FDCWD, (folder / "f").c_str(), times, 0) == 0);
  CHECK((*posix_file_system()->status(folder / "f"))->modified_ns > 0);
}

TEST_CASE("what a server has forgotten is asked for once more, and then is not there") {
  int calls = 0;
  const auto forgotten = [&](int times) {
    calls = 0;
    return unless_stale([&calls, times]() -> Result<int> {
      if (++calls <= times) return io_error("read", ESTALE);
      return 7;
    });
  };
  CHECK(*forgotten(0) == 7);
  CHECK(calls == 1);
  CHECK(*forgotten(1) == 7);
  CHECK(calls == 2);
  CHECK(forgotten(5).error().code == ErrorCode::not_found);
  CHECK(calls == 2);
  CHECK(unless_stale([]() -> Result<int> { return io_error("read", EIO); }).error().code == ErrorCode::io);
}

TEST_CASE("file systems of other machines are told from those of this one by the number of statfs") {
  for (const std::uint64_t magic : {0x6969U, 0x0BD00BD0U, 0x47504653U, 0x65735546U, 0xFF534D42U})
    CHECK(file_system_kind(magic).network);
  CHECK(file_system_kind(0x6969).name == "NFS");
  CHECK(file_system_kind(0xEF53).name == "ext4");
  CHECK_FALSE(file_system_kind(0x01021994).network);
  CHECK(file_system_kind(0x1234).name == "0x1234");
  CHECK_FALSE(file_system_kind(0x1234).network);
  const TempDir folder;
  const auto here = posix_file_system()->kind(folder.path());
  CHECK_FALSE(here.name.empty());
  CHECK(posix_file_system()->kind(folder / "not/there/yet").name == here.name);
  if (fs::exists("/dev/shm")) CHECK(posix_file_system()->kind("/dev/shm").name == "tmpfs");
}

}  // namespace
}  // namespace cubinet
