// SPDX-License-Identifier: Apache-2.0
#include "support/skip.hpp"
#include "support/temp_dir.hpp"
#include "support/text.hpp"

#include <cubinet/session/output_file.hpp>

#include <doctest/doctest.h>

#include <unistd.h>

using namespace cubinet;

namespace fs = std::filesystem;

TEST_CASE("a file in a folder that exists may be written, whether it is there or not") {
  const test::TempDir temp;
  const auto files = posix_file_system();
  CHECK(*check_output_file(*files, (temp / "new").string()) == temp / "new");
  test::write_file(temp / "old", "content");
  CHECK(*check_output_file(*files, (temp / "old").string()) == temp / "old");
}

TEST_CASE("a symbolic link is refused, whatever it leads to, and one in the path of its folder is followed") {
  const test::TempDir temp;
  test::write_file(temp / "real", "content");
  fs::create_symlink(temp / "real", temp / "link");
  fs::create_symlink("absent", temp / "dangling");
  fs::create_symlink("loop", temp / "loop");
  for (const char* name : {"link", "dangling", "loop"}) {
    CAPTURE(name);
    const auto path = check_output_file(*posix_file_system(), (temp / name).string());
    REQUIRE_FALSE(path);
    CHECK(path.error().code == ErrorCode::invalid_argument);
    CHECK(test::contains(path.error().message, "it is a symbolic link"));
  }
  fs::create_directory(temp / "folder");
  fs::create_directory_symlink(temp / "folder", temp / "way");
  CHECK(*check_output_file(*posix_file_system(), (temp / "way/new").string()) == temp / "folder/new");
}

TEST_CASE("a name that leaves no room for the temporary file is refused") {
  const test::TempDir temp;
  const auto files = posix_file_system();
  CHECK(check_output_file(*files, (temp / std::string(200, 'x')).string()));
  for (const std::size_t length : {std::size_t{218}, std::size_t{255}, std::size_t{256}, std::size_t{5000}}) {
    CAPTURE(length);
    const auto path = check_output_file(*files, (temp / std::string(length, 'x')).string());
    REQUIRE_FALSE(path);
    CHECK(path.error().code == ErrorCode::invalid_argument);
    CHECK(test::contains(path.error().message, "too long"));
  }
}

TEST_CASE("what is read is not written, by whatever name") {
  const test::TempDir temp;
  const auto files = posix_file_system();
  test::write_file(temp / "input", "content");
  fs::create_symlink(temp / "input", temp / "soft");
  fs::create_hard_link(temp / "input", temp / "hard");
  test::write_file(temp / "other", "content");
  const ProtectedFiles kept{{(temp / "input").string(), (temp / "missing").string()}, {}};
  for (const char* name : {"input", "soft", "hard", "./input"}) {
    CAPTURE(name);
    const auto path = check_output_file(*files, (temp / name).string(), kept);
    REQUIRE_FALSE(path);
    CHECK(path.error().code == ErrorCode::invalid_argument);
  }
  CHECK(check_output_file(*files, (temp / "other").string(), kept));
  CHECK(check_output_file(*files, (temp / "missing").string(), kept));
}

TEST_CASE("nothing is written into the home") {
  const test::TempDir temp;
  const auto files = posix_file_system();
  const ProtectedFiles kept{{}, {(temp / "home")}};
  CHECK(check_output_file(*files, (temp / "home.bundle").string(), kept));  // there is no home yet
  fs::create_directories((temp / "home") / "cubins");
  fs::create_directory_symlink((temp / "home"), temp / "way");
  for (const char* name : {"home/index.sqlite", "home/cubins/x", "way/x"}) {
    CAPTURE(name);
    CHECK_FALSE(check_output_file(*files, (temp / name).string(), kept));
  }
  CHECK(check_output_file(*files, (temp / "home.bundle").string(), kept));
}

TEST_CASE("folders, devices and missing folders are refused") {
  const test::TempDir temp;
  const auto files = posix_file_system();
  for (const std::string& name : {std::string(), (temp / "").string(), std::string("/dev/null"),
                                  std::string("/"), (temp / "missing/file").string()}) {
    CAPTURE(name);
    const auto path = check_output_file(*files, name);
    REQUIRE_FALSE(path);
    CHECK(path.error().code == ErrorCode::invalid_argument);
  }
}

TEST_CASE("a folder that may not be written is an error of the environment") {
  if (::geteuid() == 0) return test::skip("root may write everywhere");
  const test::TempDir temp;
  fs::create_directory(temp / "closed");
  fs::permissions(temp / "closed", fs::perms::owner_read | fs::perms::owner_exec);
  const auto path = check_output_file(*posix_file_system(), (temp / "closed/file").string());
  REQUIRE_FALSE(path);
  CHECK(path.error().code == ErrorCode::io);
}
