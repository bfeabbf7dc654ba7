// SPDX-License-Identifier: Apache-2.0
#include "standard_headers.hpp"

#include <doctest/doctest.h>

using namespace cubinet;

TEST_CASE("what CCCL may have is looked for under its names, and nothing else is") {
  CHECK(counterparts_in_cccl("limits").front() == "cuda/std/limits");
  CHECK(counterparts_in_cccl("algorithm").back() == "cuda/std/__algorithm_");
  CHECK(counterparts_in_cccl("stdint.h") == std::vector<std::string>{"cuda/std/cstdint"});
  for (const char* none : {"vector", "iostream", "string", "cuda/std/limits", "", "stdio.h"})
    CHECK_MESSAGE(counterparts_in_cccl(none).empty(), none);
}

TEST_CASE(
    "our header brings the names of its counterpart into std, and the C header into the global namespace") {
  const std::string text = standard_header("limits", "cuda/std/limits~2");
  CHECK(text.find("#include <cuda/std/limits~2>") != std::string::npos);
  CHECK(text.find("using ::") == std::string::npos);
  CHECK(standard_header("stdint.h", "cuda/std/cstdint").find("using ::cuda::std::uint32_t;") !=
        std::string::npos);
}

TEST_CASE("what the compiler knows without a header needs none of CCCL") {
  CHECK(is_built_in("stdio.h"));
  CHECK(is_built_in("math.h"));
  CHECK_FALSE(is_built_in("iostream"));
  CHECK_FALSE(is_built_in("stdint.h"));
}
