// SPDX-License-Identifier: Apache-2.0
// Compares the matrix of the bundle in the Python package with the choice of its kernels, and
// writes it: scripts/builtin_matrix.sh.
#include "builtin_kernels.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace cubinet::test {
namespace {

TEST_CASE("the matrix of the bundle names the kernels that are chosen today") {
  const std::string chosen = choose_builtin_kernels().matrix();
  if (const char* file = std::getenv("CUBINET_WRITE_BUILTIN_MATRIX")) {
    std::ofstream(file) << chosen;
    return;
  }
  std::ifstream file(CUBINET_BUILTIN_MATRIX);
  std::stringstream text;
  text << file.rdbuf();
  const bool agrees = text.str() == chosen;
  CHECK_MESSAGE(agrees, "scripts/builtin_matrix.sh writes the file again");
}

}  // namespace
}  // namespace cubinet::test
