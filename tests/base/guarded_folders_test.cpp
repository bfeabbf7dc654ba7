// SPDX-License-Identifier: Apache-2.0
#include "support/temp_dir.hpp"

#include <cubinet/base/file_system.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <unistd.h>

namespace cubinet {
namespace {

namespace fs = std::filesystem;
using test::TempDir;

// A guarded folder with a sub-folder, and a folder that no change may reach.
struct Guarded {
  TempDir folder;
  std::shared_ptr<FileSystem> files = posix_file_system();
  fs::path own = folder / "own";
  fs::path docs = folder / "docs";

  Guarded() {
    for (const fs::path& each : {own / "sub", docs})
      fs::create_directories(each);
    for (const fs::path& each : {own / "sub/f", docs / "f"})
      std::ofstream(each) << "text";
    files->guard(own);
  }
  // Makes every kind of change to files below `sub`, and returns the errors.
  std::vector<ErrorCode> failures(const fs::path& sub) {
    std::vector<ErrorCode> codes;
    const auto add = [&](const auto& result) {
      if (!result) codes.push_back(result.error().code);
    };
    add(files->create(sub / "new"));
    add(files->append(sub / "f", as_bytes("x")));
    add(files->link(sub / "f", folder / "second"));
    add(files->link(folder / "docs/f", sub / "second"));
    add(files->rename(sub / "f", sub / "g"));
    add(files->rename(folder / "docs/f", sub / "h"));
    add(files->lock(sub / "lock"));
    add(files->create_directories(sub / "a/b", FileSystem::Mode::shared));
    add(files->remove(sub / "f"));
    add(files->remove_tree(sub / "f"));
    return codes;
  }
  std::size_t in_docs() const { return files->list(docs)->names.size(); }
};

constexpr std::size_t kChanges = 10;

TEST_CASE("a guarded folder is changed as any other") {
  Guarded guarded;
  CHECK(guarded.failures(guarded.own / "sub").empty());
  CHECK(guarded.files->create_directories(guarded.own / "c/d", FileSystem::Mode::private_to_owner));
  CHECK((*guarded.files->status(guarded.own / "c/d"))->permissions == 0700);
  CHECK(guarded.files->create_directories(guarded.own / "c/d", FileSystem::Mode::private_to_owner));
  CHECK_FALSE(guarded.files->create_directories(guarded.own / "sub/g", FileSystem::Mode::shared));
  CHECK_FALSE(*guarded.files->remove(guarded.own / "none/f"));
  CHECK(guarded.files->remove_tree(guarded.own / "none/f"));
  CHECK(guarded.files->create(guarded.own / "none/f").error().native == ENOENT);
  CHECK(guarded.files->create(guarded.own / "../docs/g").error().code == ErrorCode::invalid_argument);
  CHECK(guarded.files->create(guarded.docs / "g"));
}

TEST_CASE("no change leaves a guarded folder by a link that is put into it") {
  Guarded guarded;
  fs::remove_all(guarded.own / "sub");
  fs::create_directory_symlink(guarded.docs, guarded.own / "sub");
  CHECK(guarded.failures(guarded.own / "sub") == std::vector(kChanges, ErrorCode::untrusted));
  CHECK(guarded.failures(guarded.own / "sub/deeper") == std::vector(kChanges, ErrorCode::untrusted));
  CHECK(guarded.in_docs() == 1);
}

TEST_CASE("no change is made in a guarded folder, or one in it, that others can write") {
  for (const char* opened : {"own", "own/sub"}) {
    Guarded guarded;
    fs::permissions(guarded.folder / opened, fs::perms{0777});
    CHECK(guarded.failures(guarded.own / "sub") == std::vector(kChanges, ErrorCode::untrusted));
    CHECK(guarded.in_docs() == 1);
  }
}

TEST_CASE("no change is made where another user has put a folder in the place of a guarded one") {
  if (::geteuid() != 0) return;  // only root may change a folder's owner
  Guarded guarded;
  fs::rename(guarded.own, guarded.folder / "before");
  fs::create_directories(guarded.own);
  fs::create_directory_symlink(guarded.docs, guarded.own / "sub");
  REQUIRE(::chown(guarded.own.c_str(), 1, 1) == 0);
  CHECK(guarded.failures(guarded.own / "sub") == std::vector(kChanges, ErrorCode::untrusted));
  CHECK(guarded.in_docs() == 1);
}

TEST_CASE("no change leaves an enclosed folder, even if others write it and exchange what is in it") {
  Guarded guarded;
  const auto files = guarded.files = posix_file_system();
  fs::permissions(guarded.own, fs::perms{0777});
  REQUIRE(files->enclose(guarded.own));
  CHECK(guarded.failures(guarded.own / "sub").empty());
  fs::remove_all(guarded.own / "sub");
  fs::create_directory_symlink(guarded.docs, guarded.own / "sub");
  const auto before = guarded.in_docs();
  CHECK(guarded.failures(guarded.own / "sub") == std::vector(kChanges, ErrorCode::untrusted));
  CHECK(guarded.in_docs() == before);
  // The open folder is used, whatever has its name now.
  fs::rename(guarded.own, guarded.folder / "moved");
  fs::create_directory_symlink(guarded.docs, guarded.own);
  CHECK(files->create(guarded.own / "new"));
  CHECK(fs::exists(guarded.folder / "moved/new"));
  CHECK(guarded.in_docs() == before);
  fs::remove_all(guarded.folder / "moved");
  CHECK(files->create(guarded.own / "new").error().code == ErrorCode::unavailable);
}

TEST_CASE("the folder to enclose is one, or a link of this user or root to one") {
  const TempDir folder;
  const auto files = posix_file_system();
  fs::create_directory(folder / "real");
  fs::create_directory_symlink("real", folder / "second");
  fs::create_directory_symlink(folder / "second", folder / "first");
  REQUIRE(files->enclose((folder / "first").string() + "/"));
  CHECK(files->create(folder / "first/new"));
  CHECK(fs::exists(folder / "real/new"));
  std::ofstream(folder / "file") << "text";
  fs::create_symlink("loop", folder / "loop");
  CHECK(files->enclose(folder / "absent").error().code == ErrorCode::not_found);
  CHECK(files->enclose(folder / "file").error().code == ErrorCode::untrusted);
  CHECK(files->enclose(folder / "loop").error().code == ErrorCode::untrusted);
  if (::geteuid() != 0) return;  // only root may change a link's owner
  REQUIRE(::lchown((folder / "second").c_str(), 1, 1) == 0);
  CHECK(files->enclose(folder / "first").error().code == ErrorCode::untrusted);
}

TEST_CASE("a guarded folder that is gone is no miss") {
  Guarded guarded;
  fs::remove_all(guarded.own);
  CHECK(guarded.failures(guarded.own / "sub") == std::vector(kChanges, ErrorCode::unavailable));
}

}  // namespace
}  // namespace cubinet
