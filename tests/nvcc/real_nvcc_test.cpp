// SPDX-License-Identifier: Apache-2.0
#include "real_nvcc.hpp"

#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

namespace cubinet::nvcc {
namespace {

using test::ok;
using test::TempDir;
using Lines = std::vector<std::string>;

std::string script(const TempDir& folder, std::string_view name, std::string_view text) {
  const std::filesystem::path path = folder / name;
  test::write_file(path, std::string("#!/bin/sh\n") + std::string(text) + "\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path.string();
}

TEST_CASE("The named nvcc precedes that of the toolkit, and that precedes the search path") {
  const TempDir folder;
  const std::string own = script(folder, "own", "");
  const std::string named = script(folder, "named", "");
  const std::string home = script(folder, "cuda/bin/nvcc", "");
  const std::string path = script(folder, "path/nvcc", "");
  const std::string home_line = "CUDA_HOME=" + (folder / "cuda").string();
  const std::string path_line = "PATH=:/nowhere:" + (folder / "path").string();
  CHECK(ok(find_real_nvcc(EnvironmentVariables(Lines{path_line, home_line, "CUBINET_NVCC=" + named}), own)) ==
        named);
  CHECK(ok(find_real_nvcc(EnvironmentVariables(Lines{path_line, home_line}), own)) == home);
  CHECK(ok(find_real_nvcc(EnvironmentVariables(Lines{path_line}), own)) == path);
}

TEST_CASE("An nvcc of PATH that is this executable is skipped") {
  const TempDir folder;
  const std::string own = script(folder, "own", "");
  const std::string other = script(folder, "second/nvcc", "");
  std::filesystem::create_directories(folder / "first");
  std::filesystem::create_symlink(own, folder / "first/nvcc");
  const std::string line = "PATH=" + (folder / "first").string() + ":" + (folder / "second").string();
  CHECK(ok(find_real_nvcc(EnvironmentVariables(Lines{line}), own)) == other);
}

TEST_CASE("cubinet nvcc as its own nvcc is an error") {
  const TempDir folder;
  const std::string own = script(folder, "own", "");
  const auto itself = find_real_nvcc(EnvironmentVariables(Lines{"CUBINET_NVCC=" + own}), own);
  REQUIRE_FALSE(itself.has_value());
  CHECK(itself.error().message.find("itself") != std::string::npos);
  const auto inside = find_real_nvcc(EnvironmentVariables(Lines{"CUBINET_NVCC_INSIDE=1"}), own);
  REQUIRE_FALSE(inside.has_value());
  CHECK(inside.error().code == ErrorCode::invalid_argument);
}

TEST_CASE("A named nvcc that cannot be run is an error") {
  const TempDir folder;
  const std::string own = script(folder, "own", "");
  test::write_file(folder / "text", "");
  for (const std::string& path :
       {(folder / "text").string(), folder.path().string(), std::string("/nowhere")}) {
    CAPTURE(path);
    const auto found = find_real_nvcc(EnvironmentVariables(Lines{"CUBINET_NVCC=" + path}), own);
    REQUIRE_FALSE(found.has_value());
    CHECK(found.error().message.find("no executable file") != std::string::npos);
  }
}

TEST_CASE("nvcc receives the arguments and the environment unchanged") {
  const TempDir folder;
  const std::string out = (folder / "out").string();
  const std::string nvcc = script(
      folder, "nvcc", "printf '%s|' \"$#\" \"$@\" \"$A\" \"$CUBINET_NVCC_INSIDE\" > " + out + "; exit 3");
  CHECK(ok(run_real_nvcc(nvcc, {"-c", "a b", "$A", ""}, EnvironmentVariables(Lines{"A=1 2"}))) == 3);
  std::ifstream file(out);
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == "4|-c|a b|$A||1 2|1|");
}

TEST_CASE("A signal that ends nvcc becomes a status") {
  const TempDir folder;
  const std::string nvcc = script(folder, "nvcc", "kill -9 $$");
  CHECK(ok(run_real_nvcc(nvcc, {}, EnvironmentVariables())) == 137);
  CHECK_FALSE(run_real_nvcc((folder / "none").string(), {}, EnvironmentVariables()).has_value());
}

TEST_CASE("nvcc takes the place of this process") {
  const TempDir folder;
  const std::string nvcc = script(folder, "nvcc", "[ \"$#$1$CUBINET_NVCC_INSIDE\" = 1-c1 ] && kill -9 $$");
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const Error failed = become_real_nvcc(nvcc, {"-c"}, EnvironmentVariables());
    ::_exit(1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  // The signal ends the process itself.
  CHECK(WIFSIGNALED(status));
  const Error failed = become_real_nvcc((folder / "none").string(), {}, EnvironmentVariables());
  CHECK(failed.message.find("cannot run") != std::string::npos);
}

}  // namespace
}  // namespace cubinet::nvcc
