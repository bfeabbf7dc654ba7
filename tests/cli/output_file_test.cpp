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

TEST_CASE("a symbolic link is followed, so that what it names is replaced") {
  const test::Sandbox sandbox;
  sandbox.write("real", "content");
  fs::create_symlink(sandbox / "real", sandbox / "link");
  CHECK(*check_output_file(*posix_file_system(), sandbox.path("link")) == sandbox / "real");
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
