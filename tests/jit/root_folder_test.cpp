// SPDX-License-Identifier: Apache-2.0
#include "root_folder.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <stdexcept>

using namespace cubinet;

TEST_CASE("work is done at the root while the process stays where it is") {
  const auto here = std::filesystem::current_path();
  std::filesystem::path there;
  run_at_root([&] { there = std::filesystem::current_path(); });
  CHECK(there == "/");
  CHECK(std::filesystem::current_path() == here);
}

TEST_CASE("what the work throws arrives") {
  CHECK_THROWS_AS(run_at_root([] { throw std::runtime_error("no"); }), std::runtime_error);
}
