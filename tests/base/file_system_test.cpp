// SPDX-License-Identifier: Apache-2.0
#include "support/temp_dir.hpp"

#include <cubinet/base/file_system.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace cubinet {
namespace {

namespace fs = std::filesystem;
using test::TempDir;

std::string text_of(const fs::path& path) {
  const auto content = posix_file_system()->read(path, 1 << 20);
  REQUIRE(content);
  return std::string(as_text(*content));
}

TEST_CASE("a folder kept open reads what lies in it now, also where it was moved") {
  const TempDir folder;
  const auto files = posix_file_system();
  CHECK(files->open_folder(folder / "a") == nullptr);
  fs::create_directories(folder / "a" / "b");
  std::ofstream(folder / "a" / "b" / "f") << "text";
  fs::create_symlink(folder / "a", folder / "link");
  CHECK(files->open_folder(folder / "link") == nullptr);
  CHECK(files->open_folder(folder / "a" / "b" / "f") == nullptr);
  const auto open = files->open_folder(folder / "a");
  REQUIRE(open != nullptr);
  CHECK(open->status()->inode == (*files->status(folder / "a"))->inode);
  fs::rename(folder / "a", folder / "c");
  CHECK(as_text(*open->read("b/f", 4)) == "text");
  CHECK(open->read("b/f", 3).error().code == ErrorCode::invalid_argument);
  CHECK(open->read("b", 9).error().code == ErrorCode::invalid_argument);
  CHECK(open->read("f", 9).error().code == ErrorCode::not_found);
  fs::remove_all(folder / "c");
  CHECK(open->read("b/f", 4).error().code == ErrorCode::not_found);
}

TEST_CASE("a file is written whole, synced, closed and read back") {
  const TempDir folder;
  const auto files = posix_file_system();
  auto file = files->create(folder / "f");
  REQUIRE(file);
  REQUIRE((*file)->write(as_bytes("hello ")));
  REQUIRE((*file)->write(as_bytes("world")));
  REQUIRE((*file)->sync());
  REQUIRE((*file)->close());
  CHECK(text_of(folder / "f") == "hello world");
  const auto again = files->create(folder / "f");
  REQUIRE_FALSE(again);
  CHECK(again.error().native == EEXIST);
}

TEST_CASE("reading what is missing, too large or no regular file is an error of its own") {
  const TempDir folder;
  const auto files = posix_file_system();
  CHECK(files->read(folder / "none", 10).error().code == ErrorCode::not_found);
  std::ofstream(folder / "large") << "12345678901";
  CHECK(files->read(folder / "large", 10).error().code == ErrorCode::invalid_argument);
  CHECK(files->read_own(folder / "large", 10).error().code == ErrorCode::io);
  CHECK(files->read(folder.path(), 10).error().code == ErrorCode::invalid_argument);
  CHECK_FALSE(files->read(folder.path(), 10).error().remedy.empty());
  CHECK(files->read_range(folder.path(), 0, 10).error().code == ErrorCode::invalid_argument);
  CHECK(files->read_own(folder.path(), 10).error().code == ErrorCode::untrusted);
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  CHECK(files->read(folder / "fifo", 10).error().code == ErrorCode::invalid_argument);  // and does not hang
}

TEST_CASE("an atomic write replaces the old content and leaves no other file behind") {
  const TempDir folder;
  const auto files = posix_file_system();
  REQUIRE(write_file_atomically(*files, folder / "f", as_bytes("old")));
  REQUIRE(write_file_atomically(*files, folder / "f", as_bytes("new")));
  CHECK(text_of(folder / "f") == "new");
  CHECK(files->list(folder.path())->names.size() == 1);
  CHECK_FALSE(write_file_atomically(*files, folder / "none" / "f", as_bytes("x")));
}

// Between opening a file and inspecting it, it may lose its name. To hit that takes some thousand tries.
TEST_CASE("a file that is replaced over and over belongs to its owner at any time") {
  const TempDir folder;
  const auto files = posix_file_system();
  std::ofstream(folder / "f") << "text";
  std::atomic<bool> done{false};
  std::thread replacing([&] {
    while (!done) {
      std::ofstream(folder / "g") << "text";
      fs::rename(folder / "g", folder / "f");
    }
  });
  int refused = 0;
  for (int i = 0; i < 20'000; ++i)
    refused += files->read_own(folder / "f", 10) ? 0 : 1;
  done = true;
  replacing.join();
  CHECK(refused == 0);
}

TEST_CASE("temporary names do not repeat") {
  CHECK(temporary_path_beside("/a/b") != temporary_path_beside("/a/b"));
  CHECK(temporary_path_beside("/a/b").parent_path() == "/a");
}

TEST_CASE("folders are created with their parents, existing ones are no error, files in the way are") {
  const TempDir folder;
  const auto files = posix_file_system();
  const auto deep = folder / "a" / "b" / "c";
  REQUIRE(files->create_directories(deep, FileSystem::Mode::private_to_owner));
  REQUIRE(files->create_directories(deep, FileSystem::Mode::private_to_owner));
  CHECK((*files->status(deep))->permissions == 0700);
  CHECK((*files->status(deep))->type == FileStatus::Type::directory);
  std::ofstream(folder / "file") << "x";
  CHECK_FALSE(files->create_directories(folder / "file", FileSystem::Mode::shared));
  CHECK_FALSE(files->create_directories(folder / "file" / "below", FileSystem::Mode::shared));
}

TEST_CASE("a link is a second name of one file, and takes no name that is there") {
  test::TempDir dir;
  auto files = posix_file_system();
  REQUIRE(write_file_atomically(*files, dir.path() / "a", as_bytes("content")));
  REQUIRE(files->link(dir.path() / "a", dir.path() / "b"));
  const auto status = *files->status(dir.path() / "b");
  REQUIRE(status);
  CHECK(status->links == 2);
  CHECK(status->inode == (*files->status(dir.path() / "a"))->inode);
  CHECK(status->changed_ns >= status->modified_ns);
  const auto again = files->link(dir.path() / "a", dir.path() / "b");
  REQUIRE(!again);
  CHECK(again.error().native == EEXIST);
  CHECK(files->link(dir.path() / "none", dir.path() / "c").error().code == ErrorCode::not_found);
}

TEST_CASE("status tells files, links and nothing apart") {
  const TempDir folder;
  const auto files = posix_file_system();
  std::ofstream(folder / "file") << "12345";
  fs::create_symlink(folder / "file", folder / "link");
  const auto file = *files->status(folder / "file");
  REQUIRE(file);
  CHECK(file->type == FileStatus::Type::regular);
  CHECK(file->size == 5);
  CHECK(file->owner == ::geteuid());
  CHECK(file->modified_ns > 0);
  CHECK((*files->status(folder / "link"))->type == FileStatus::Type::symlink);
  CHECK_FALSE(files->status(folder / "none")->has_value());
}

TEST_CASE("names are listed in byte order and removal says whether there was something") {
  const TempDir folder;
  const auto files = posix_file_system();
  for (const char* name : {"b", "a", "C"})
    std::ofstream(folder / name) << "x";
  CHECK(files->list(folder.path())->names == std::vector<std::string>{"C", "a", "b"});
  CHECK(*files->remove(folder / "a"));
  CHECK_FALSE(*files->remove(folder / "a"));
  CHECK_FALSE(files->list(folder / "none"));
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

TEST_CASE("a lock excludes others until it is released") {
  const TempDir folder;
  const auto files = posix_file_system();
  auto held = files->lock(folder / "l");
  REQUIRE(held);
  REQUIRE(*held != nullptr);
  const auto refused = files->lock(folder / "l");
  REQUIRE(refused);
  CHECK(*refused == nullptr);
  held->reset();
  const auto free = files->lock(folder / "l");
  REQUIRE(free);
  CHECK(*free != nullptr);
}

TEST_CASE("the lock of a process that died is free") {
  const TempDir folder;
  const auto files = posix_file_system();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const auto lock = files->lock(folder / "l");
    ::_exit(lock && *lock ? 0 : 1);  // without releasing
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WEXITSTATUS(status) == 0);
  const auto lock = files->lock(folder / "l");
  REQUIRE(lock);
  CHECK(*lock != nullptr);
}

TEST_CASE("what is added to a file stands behind what was there, and not while somebody replaces it") {
  const TempDir folder;
  const auto files = posix_file_system();
  CHECK(*files->append(folder / "f", as_bytes("one ")));
  CHECK(*files->append(folder / "f", as_bytes("two")));
  CHECK(text_of(folder / "f") == "one two");
  {
    const auto alone = files->lock(folder / "f", FileSystem::Sharing::exclusive);
    REQUIRE(*alone != nullptr);
    CHECK_FALSE(*files->append(folder / "f", as_bytes("three")));
  }
  CHECK(text_of(folder / "f") == "one two");
  fs::create_symlink(folder / "f", folder / "link");
  CHECK_FALSE(files->append(folder / "link", as_bytes("four")));
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  CHECK_FALSE(files->append(folder / "fifo", as_bytes("five")));  // and does not hang
  CHECK_FALSE(files->append(folder / "none/f", as_bytes("six")));
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
