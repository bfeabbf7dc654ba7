// SPDX-License-Identifier: Apache-2.0
#include "support/temp_dir.hpp"

#include <cubinet/base/file_system.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/file.h>
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
  // and does not block
  CHECK(files->read(folder / "fifo", 10).error().code == ErrorCode::invalid_argument);
}

// A file may lose its name between opening and inspecting it. Hitting that moment takes some
// thousand attempts.
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
  CHECK(files->link(dir.path() / "none", dir.path() / "c").error().native == ENOENT);
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
    ::_exit(lock && *lock ? 0 : 1);  // without releasing the lock
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WEXITSTATUS(status) == 0);
  const auto lock = files->lock(folder / "l");
  REQUIRE(lock);
  CHECK(*lock != nullptr);
}

TEST_CASE("what is added to a file follows what it held") {
  const TempDir folder;
  const auto files = posix_file_system();
  CHECK(files->append(folder / "f", as_bytes("one ")));
  CHECK(files->append(folder / "f", as_bytes("two")));
  CHECK(text_of(folder / "f") == "one two");
  fs::create_symlink(folder / "f", folder / "link");
  CHECK_FALSE(files->append(folder / "link", as_bytes("four")));
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  CHECK_FALSE(files->append(folder / "fifo", as_bytes("five")));  // and does not block
  CHECK_FALSE(files->append(folder / "none/f", as_bytes("six")));
}

TEST_CASE("nobody but its owner can open a lock file, nor one of an earlier version once it was used") {
  const TempDir folder;
  const auto files = posix_file_system();
  REQUIRE(*files->lock(folder / "new"));
  CHECK((*files->status(folder / "new"))->permissions == 0600);
  for (const char* name : {"old", "data", "linked"}) {
    std::ofstream(folder / name) << (std::string_view(name) == "data" ? "text" : "");
    fs::permissions(folder / name, fs::perms{0644});
  }
  fs::create_hard_link(folder / "linked", folder / "other");
  CHECK(*files->lock(folder / "old", FileSystem::Sharing::shared));
  CHECK((*files->status(folder / "old"))->permissions == 0600);
  for (const char* name : {"data", "linked"}) {  // not lock files: their modes must not change
    CHECK(*files->lock(folder / name));
    CHECK((*files->status(folder / name))->permissions == 0644);
  }
}

TEST_CASE("a lock that another user holds on an old file stops nobody") {
  const TempDir folder;
  const auto files = posix_file_system();
  std::ofstream(folder / "old") << "";
  fs::permissions(folder / "old", fs::perms{0644});
  const int held = ::open((folder / "old").c_str(), O_RDONLY);
  REQUIRE(::flock(held, LOCK_SH | LOCK_NB) == 0);
  const auto lock = files->lock(folder / "old");
  REQUIRE(lock);
  CHECK(*lock != nullptr);
  CHECK(*files->lock(folder / "old") == nullptr);
  CHECK((*files->status(folder / "old"))->permissions == 0600);
  CHECK(files->list(folder.path())->names == std::vector<std::string>{"old"});
  ::close(held);
}

TEST_CASE("of several that replace an old lock file at once, one holds the lock") {
  constexpr int kRounds = 300, kThreads = 4;
  const TempDir folder;
  std::atomic<int> holders = 0, most = 0, granted = 0;
  for (int round = 0; round < kRounds; ++round) {
    const fs::path file = folder / std::to_string(round);
    std::ofstream(file) << "";
    fs::permissions(file, fs::perms{0644});
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        const auto lock = posix_file_system()->lock(file);
        if (!lock || *lock == nullptr) return;
        ++granted;
        most = std::max<int>(most, ++holders);
        std::this_thread::yield();
        --holders;
      });
    }
    for (std::thread& thread : threads)
      thread.join();
  }
  CHECK(most == 1);
  CHECK(granted >= kRounds);
}

TEST_CASE("a change that finds no folder or file is an error of the environment, and no miss") {
  const TempDir folder;
  const auto files = posix_file_system();
  const fs::path none = folder / "none" / "f";
  CHECK(files->create(none).error().code == ErrorCode::io);
  CHECK(files->append(none, as_bytes("x")).error().code == ErrorCode::io);
  CHECK(files->lock(none).error().code == ErrorCode::io);
  CHECK(files->rename(folder / "none", folder / "f").error().code == ErrorCode::io);
  CHECK(files->sync_directory(folder / "none").error().code == ErrorCode::io);
  CHECK(files->lock(none).error().native == ENOENT);
}

TEST_CASE("a folder is removed with all that it holds, and no link in it is followed") {
  const TempDir folder;
  const auto files = posix_file_system();
  fs::create_directories(folder / "tree/a/b");
  fs::create_directories(folder / "kept");
  std::ofstream(folder / "kept/f") << "x";
  std::ofstream(folder / "tree/a/b/f") << "x";
  fs::create_directory_symlink(folder / "kept", folder / "tree/a/link");
  fs::create_directory_symlink(folder / "kept", folder / "link");
  CHECK(files->remove_tree(folder / "tree"));
  CHECK_FALSE(fs::exists(folder / "tree"));
  CHECK(files->remove_tree(folder / "link"));
  CHECK(files->remove_tree(folder / "none"));
  CHECK(fs::exists(folder / "kept/f"));
}

TEST_CASE("a listing says which of the names are folders") {
  const TempDir folder;
  fs::create_directories(folder / "a");
  fs::create_directory_symlink(folder / "a", folder / "link");
  std::ofstream(folder / "f") << "x";
  const auto listing = posix_file_system()->list(folder.path());
  CHECK(listing->names == std::vector<std::string>{"a", "f", "link"});
  CHECK(listing->folders == std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace cubinet
