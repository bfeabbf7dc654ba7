// SPDX-License-Identifier: Apache-2.0
#include "support/temp_dir.hpp"

#include <cubinet/cubinet.h>

#include <doctest/doctest.h>

#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using cubinet::test::TempDir;

constexpr cubinet_string kNobody = {"/nowhere", 8};

TEST_CASE("A line for nvcc replaces the process of the C function") {
  const TempDir folder;
  const std::string nvcc = (folder / "nvcc").string();
  cubinet::test::write_file(nvcc, "#!/bin/sh\n[ \"$1\" = -c ] && exit 7\n");
  std::filesystem::permissions(nvcc, std::filesystem::perms::owner_all);
  const std::string home = "CUBINET_HOME=" + (folder / "home").string();
  const std::string named = "CUBINET_NVCC=" + nvcc;
  const char* const variables[] = {home.c_str(), named.c_str(), nullptr};
  const cubinet_string words[] = {cubinet_str("-c"), cubinet_str("a.cu")};
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::int32_t status = 0;
    static_cast<void>(cubinet_nvcc(words, 2, variables, kNobody, &status, nullptr));
    ::_exit(1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("The launcher is not taken for nvcc") {
  const TempDir folder;
  const std::string launcher = (folder / "nvcc").string();
  cubinet::test::write_file(launcher, "#!/bin/sh\nexit 0\n");
  std::filesystem::permissions(launcher, std::filesystem::perms::owner_all);
  const std::string home = "CUBINET_HOME=" + (folder / "home").string();
  const std::string named = "CUBINET_NVCC=" + launcher;
  const char* const variables[] = {home.c_str(), named.c_str(), nullptr};
  const cubinet_string word = cubinet_str("-c");
  std::int32_t status = 0;
  CHECK(cubinet_nvcc(&word, 1, variables, {launcher.data(), launcher.size()}, &status, nullptr) ==
        CUBINET_OK);
  CHECK(status == 1);
}

TEST_CASE("A call without a place for the exit status, or with words that are NULL, is refused by it") {
  std::int32_t status = 0;
  const char* const none[] = {nullptr};
  const cubinet_string word = cubinet_str("--version");
  CHECK(cubinet_nvcc(&word, 1, none, kNobody, nullptr, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK(cubinet_nvcc(&word, 1, nullptr, kNobody, &status, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK(cubinet_nvcc(nullptr, 1, none, kNobody, &status, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK(cubinet_nvcc(&word, std::size_t{1} << 40, none, kNobody, &status, nullptr) ==
        CUBINET_INVALID_ARGUMENT);
}

}  // namespace
