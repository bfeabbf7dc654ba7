// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/base/absolute_path.hpp>

using namespace cubinet;
using namespace cubinet::test;

namespace fs = std::filesystem;

TEST_CASE("a path becomes absolute, without empty and dot parts") {
  CHECK(ok(absolute_path("/a//b/./c/")) == "/a/b/c");
  CHECK(ok(absolute_path("//a")) == "/a");
  CHECK(ok(absolute_path("/")) == "/");
  CHECK(ok(absolute_path("/../..")) == "/");
  CHECK(ok(absolute_path("a/b")) == fs::current_path() / "a/b");
  CHECK(ok(absolute_path(".")) == fs::current_path());
  const auto zero = absolute_path(std::string("/a\0b", 4));
  REQUIRE_FALSE(zero);
  CHECK(zero.error().code == ErrorCode::invalid_argument);
}

TEST_CASE("links stay in a path, and two dots lead to the parent of what a link leads to") {
  const TempDir folder;
  const fs::path root = fs::canonical(folder.path());
  fs::create_directories(root / "free");
  fs::create_directories(root / "guarded/inner");
  fs::create_directory_symlink(root / "guarded/inner", root / "free/link");
  CHECK(ok(absolute_path(root / "free/link/x")) == root / "free/link/x");
  CHECK(ok(absolute_path(root / "free/link/../x")) == root / "guarded/x");
  CHECK(ok(absolute_path(root / "free/../guarded/x")) == root / "guarded/x");
  CHECK(ok(absolute_path(root / "free/none/../x")) == root / "free/x");
  fs::create_symlink("loop", root / "loop");
  const auto loop = absolute_path(root / "loop/../x");
  REQUIRE_FALSE(loop);
  CHECK(loop.error().code == ErrorCode::io);
}
