// SPDX-License-Identifier: Apache-2.0
#include "log_reading.hpp"

#include <doctest/doctest.h>

using namespace cubinet;

TEST_CASE("of a log the first line that tells an error is the message") {
  CHECK(first_error("a.cu(1): warning: x\na.cu(2): error: y\na.cu(3): error: z\n") == "a.cu(2): error: y");
  CHECK(first_error("error: x") == "error: x");
  CHECK(first_error("some words\nmore") == "some words");
  CHECK(first_error("").empty());
}

TEST_CASE("what wants another source or library has one remedy, whichever tool says it") {
  const auto remedy_has = [](const char* log, const char* word) {
    CHECK_MESSAGE(remedy_of_log(log).find(word) != std::string::npos, log);
  };
  remedy_has("error: kernel launch from __device__ or __global__ functions: device-side kernel launch",
             "cudadevrt");
  remedy_has("Undefined reference to 'cudaCDP2GetParameterBufferV2' in 'a.cu'", "cudadevrt");
  remedy_has("ptxas fatal   : Unresolved extern function '_Z5twicef'", "defines it");
  remedy_has("error: Undefined reference to '_Z5twicef' in 'a.cu'", "defines it");
  remedy_has("input 'a.ltoir' was built without LTO enabled", "-dlto");
  remedy_has("'k' multiply defined", "static");
  remedy_has("a.cu(1): error: host functions are not allowed in JIT mode", "-default-device");
  CHECK(remedy_of_log("a.cu(2): error: expected a ';'").empty());
}
