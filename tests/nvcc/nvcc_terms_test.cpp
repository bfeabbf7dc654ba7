// SPDX-License-Identifier: Apache-2.0
#include "nvcc_terms.hpp"

#include <doctest/doctest.h>

namespace cubinet::nvcc {
namespace {

TEST_CASE("A message names the options and variables of cubinet nvcc") {
  CHECK(in_nvcc_terms("name its folder with `CompileOptions::include_directories`") ==
        "name its folder with -I");
  CHECK(in_nvcc_terms("`HomeOptions::path`, `HomeOptions::path`") == "CUBINET_HOME, CUBINET_HOME");
  CHECK(in_nvcc_terms("CompileOptions::include_directories") == "CompileOptions::include_directories");
  CHECK(in_nvcc_terms("").empty());
}

}  // namespace
}  // namespace cubinet::nvcc
