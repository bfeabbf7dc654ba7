// SPDX-License-Identifier: Apache-2.0
#include "cache_folder.hpp"

#include "recorded_cache.hpp"

#include <chrono>
#include <sys/stat.h>
#include <unistd.h>

namespace cubinet {
namespace {

namespace fs = std::filesystem;
using test::ok;
using test::read_file;
using test::TempDir;
using test::write_file;

TEST_CASE("what lies in a folder is listed and read") {
  const TempDir temp;
  write_file(temp / "b", "two");
  write_file(temp / "a" / "x", "one");
  const CacheFolder folder = ok(CacheFolder::open(temp.path().string()));
  CHECK(ok(folder.list()) == std::vector<std::string>{"a", "b"});
  CHECK(ok(folder.list()).size() == 2);
  CHECK(as_text(ok(folder.read("b", 3))) == "two");
  CHECK(folder.read("b", 2).error().code == ErrorCode::invalid_argument);
  CHECK(folder.read("c", 9).error().code == ErrorCode::not_found);
  CHECK(folder.read("a", 9).error().code == ErrorCode::invalid_argument);
  CHECK(as_text(ok(ok(folder.folder("a")).read("x", 9))) == "one");
  CHECK(folder.folder("c").error().code == ErrorCode::not_found);
  CHECK(CacheFolder::open((temp / "none").string()).error().code == ErrorCode::not_found);
}

TEST_CASE("a file where a cache is expected is wrong input") {
  const TempDir temp;
  write_file(temp / "file", "one");
  for (const fs::path& path : {temp / "file", temp / "file" / "below"}) {
    const auto opened = CacheFolder::open(path.string());
    CHECK(opened.error().code == ErrorCode::invalid_argument);
    CHECK(opened.error().message == "'" + path.string() + "' is no folder");
  }
}

TEST_CASE("no symbolic link within a folder is followed, and nothing but a regular file read") {
  const TempDir temp;
  write_file(temp / "outside" / "secret", "s");
  fs::create_directories(temp / "cache");
  fs::create_symlink(temp / "outside", temp / "cache" / "folder");
  fs::create_symlink(temp / "outside" / "secret", temp / "cache" / "file");
  REQUIRE(::mkfifo((temp / "cache" / "pipe").c_str(), 0600) == 0);
  const CacheFolder folder = ok(CacheFolder::open((temp / "cache").string()));
  CHECK(folder.folder("folder").error().code == ErrorCode::io);
  CHECK(folder.make_folder("folder").error().code == ErrorCode::io);
  CHECK(folder.read("file", 9).error().code == ErrorCode::io);
  CHECK(folder.read("pipe", 9).error().code == ErrorCode::invalid_argument);
  CHECK_FALSE(folder.write("file", as_bytes("x")));
  folder.remove("folder");
  CHECK(read_file(temp / "outside" / "secret") == "s");
}

TEST_CASE("a file is written for reading alone, and never over another") {
  const TempDir temp;
  const CacheFolder folder = ok(CacheFolder::make((temp / "new" / "cache").string()));
  ok(folder.write("a", as_bytes("one")));
  CHECK(read_file(temp / "new" / "cache" / "a") == "one");
  CHECK((fs::status(temp / "new" / "cache" / "a").permissions() & fs::perms::mask) == fs::perms(0444));
  CHECK_FALSE(folder.write("a", as_bytes("two")));
  CHECK(read_file(temp / "new" / "cache" / "a") == "one");
}

TEST_CASE("what is moved takes the place of an empty folder alone") {
  const TempDir temp;
  const CacheFolder folder = ok(CacheFolder::open(temp.path().string()));
  const auto make = [&](const char* name) { ok(ok(folder.make_folder(name)).write("f", as_bytes(name))); };
  make("a");
  CHECK(ok(folder.move_folder("a", folder, "to")));
  make("b");
  CHECK_FALSE(ok(folder.move_folder("b", folder, "to")));
  CHECK(read_file(temp / "to" / "f") == "a");
  fs::create_directory(temp / "empty");
  CHECK(ok(folder.move_folder("b", folder, "empty")));
  write_file(temp / "file", "x");
  make("c");
  CHECK_FALSE(ok(folder.move_folder("c", folder, "file")));
  ok(folder.write("one", as_bytes("1")));
  ok(folder.write("two", as_bytes("2")));
  CHECK(ok(folder.move_file("one", folder, "there")));
  CHECK_FALSE(ok(folder.move_file("two", folder, "there")));
  CHECK(read_file(temp / "there") == "1");
  folder.remove("to");
  CHECK_FALSE(fs::exists(temp / "to"));
}

TEST_CASE("a folder has one lock, which ends with the object that took it") {
  const TempDir temp;
  const CacheFolder folder = ok(CacheFolder::open(temp.path().string()));
  {
    const CacheFolder other = ok(CacheFolder::open(temp.path().string()));
    CHECK(other.lock());
    CHECK_FALSE(folder.lock());
  }
  CHECK(folder.lock());
}

TEST_CASE("a folder was modified when a name in it was added") {
  const TempDir temp;
  const CacheFolder folder = ok(CacheFolder::open(temp.path().string()));
  fs::last_write_time(temp.path(), fs::file_time_type::clock::now() - std::chrono::hours(2));
  const std::int64_t before = ok(folder.last_modified());
  test::write_file(temp / "file", "x");
  CHECK(ok(folder.last_modified()) - before >= std::chrono::nanoseconds(std::chrono::hours(1)).count());
}

TEST_CASE("a new folder is not made where anything is") {
  const TempDir temp;
  const CacheFolder folder = ok(CacheFolder::open(temp.path().string()));
  CHECK(ok(folder.make_new_folder("a")).has_value());
  CHECK_FALSE(ok(folder.make_new_folder("a")).has_value());
  test::write_file(temp / "file", "x");
  CHECK_FALSE(ok(folder.make_new_folder("file")).has_value());
  CHECK_FALSE(folder.make_new_folder("missing/a"));
}

}  // namespace
}  // namespace cubinet
