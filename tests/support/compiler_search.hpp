// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/jit/compiler.hpp>

namespace cubinet::test {

// The default search, widened by the folder into which the scripts put NVIDIA's wheels where there is no
// toolkit.
inline CompilerSearch compiler_search() {
  CompilerSearch search;
  search.wheel_roots.emplace_back(CUBINET_TEST_CUDA_WHEELS);
  return search;
}

}  // namespace cubinet::test
