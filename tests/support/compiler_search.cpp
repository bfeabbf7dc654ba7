// SPDX-License-Identifier: Apache-2.0
#include "support/compiler_search.hpp"

#include <cstdlib>

namespace cubinet::test {

const char* cuda_root() {
  const char* moved = std::getenv("CUBINET_TEST_CUDA_ROOT");
  return moved != nullptr ? moved : CUBINET_TEST_CUDA_ROOT;
}

CompilerSearch compiler_search() {
  CompilerSearch search;
  search.toolkit_roots.insert(search.toolkit_roots.begin(), cuda_root());
  return search;
}

}  // namespace cubinet::test
