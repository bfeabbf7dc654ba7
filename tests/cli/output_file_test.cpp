// SPDX-License-Identifier: Apache-2.0
#include "output_file.hpp"

#include "support/skip.hpp"
#include "tool.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

using namespace cubinet;
using cli::check_output_file;

namespace fs = std::filesystem;

TEST_CASE("a file in a folder that exists may be written, whether it is there or not") {
  const test::Sandbox sandbox;
  const auto files = posix_file_system();
  CHECK(*check_output_file(*files, sandbox.path("new")) == sandbox / "new");
  sandbox.write("old", "content");
  CHECK(*check_output_file(*files, sandbox.path("old")) == sandbox / "old");
}

TEST_CASE("a symbolic link is refused, whatever it leads to, and one in the path of its folder is followed") {
  const test::Sandbox sandbox;
  sandbox.write("real", "content");
  fs::create_symlink(sandbox / "real", sandbox / "link");
  fs::create_symlink("absent", sandbox / "dangling");
  fs::create_symlink("loop", sandbox / "loop");
  for (const char* name : {"link", "dangling", "loop"}) {
    CAPTURE(name);
    const auto path = check_output_file(*posix_file_system(), sandbox.path(name));
    REQUIRE_FALSE(path);
    CHECK(path.error().code == ErrorCode::invalid_argument);
    CHECK(test::contains(path.error().message, "it is a symbolic link"));
  }
  fs::create_directory(sandbox / "folder");
  fs::create_directory_symlink(sandbox / "folder", sandbox / "way");
  CHECK(*check_output_file(*posix_file_system(), sandbox.path("way/new")) == sandbox / "folder/new");
}

TEST_CASE("a name that leaves no room for the temporary file is refused") {
  const test::Sandbox sandbox;
  const auto files = posix_file_system();
  CHECK(check_output_file(*files, sandbox.path(std::string(200, 'x'))));
  for (const std::size_t length : {std::size_t{218}, std::size_t{255}, std::size_t{256}, std::size_t{5000}}) {
    CAPTURE(length);
    const auto path = check_output_file(*files, sandbox.path(std::string(length, 'x')));
    REQUIRE_FALSE(path);
    CHECK(path.error().code == ErrorCode::invalid_argument);
    CHECK(test::contains(path.error().message, "too long"));
  }
}

TEST_CASE("what is read is not written, by whatever name") {
  const test::Sandbox sandbox;
  const auto files = posix_file_system();
  sandbox.write("input", "content");
  fs::create_symlink(sandbox / "input", sandbox / "soft");
  fs::create_hard_link(sandbox / "input", sandbox / "hard");
  sandbox.write("other", "content");
  const cli::ProtectedFiles kept{{sandbox.path("input"), sandbox.path("missing")}, {}};
  for (const char* name : {"input", "soft", "hard", "./input"}) {
    CAPTURE(name);
    const auto path = check_output_file(*files, sandbox.path(name), kept);
    REQUIRE_FALSE(path);
    CHECK(path.error().code == ErrorCode::invalid_argument);
  }
  CHECK(check_output_file(*files, sandbox.path("other"), kept));
  CHECK(check_output_file(*files, sandbox.path("missing"), kept));
}

TEST_CASE("nothing is written into the home") {
  const test::Sandbox sandbox;
  const auto files = posix_file_system();
  const cli::ProtectedFiles kept{{}, {sandbox.home()}};
  CHECK(check_output_file(*files, sandbox.path("home.bundle"), kept));  // there is no home yet
  fs::create_directories(sandbox.home() / "cubins");
  fs::create_directory_symlink(sandbox.home(), sandbox / "way");
  for (const char* name : {"home/index.sqlite", "home/cubins/x", "way/x"}) {
    CAPTURE(name);
    CHECK_FALSE(check_output_file(*files, sandbox.path(name), kept));
  }
  CHECK(check_output_file(*files, sandbox.path("home.bundle"), kept));
}

TEST_CASE("folders, devices and missing folders are refused") {
  const test::Sandbox sandbox;
  const auto files = posix_file_system();
  for (const std::string& name : {std::string(), sandbox.path(""), std::string("/dev/null"), std::string("/"),
                                  sandbox.path("missing/file")}) {
    CAPTURE(name);
    const auto path = check_output_file(*files, name);
    REQUIRE_FALSE(path);
    CHECK(path.error().code == ErrorCode::invalid_argument);
  }
}

TEST_CASE("a folder that may not be written is an error of the environment") {
  if (::geteuid() == 0) return test::skip("root may write everywhere");
  const test::Sandbox sandbox;
  fs::create_directory(sandbox / "closed");
  fs::permissions(sandbox / "closed", fs::perms::owner_read | fs::perms::owner_exec);
  const auto path = check_output_file(*posix_file_system(), sandbox.path("closed/file"));
  REQUIRE_FALSE(path);
  CHECK(path.error().code == ErrorCode::io);
}
