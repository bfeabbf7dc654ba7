// SPDX-License-Identifier: Apache-2.0
#include "support/compiler_search.hpp"

#include "support/skip.hpp"

#include <cubinet/jit/compiler.hpp>

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

std::optional<CompilerSearch> later_compiler_search() {
  const char* moved = std::getenv("CUBINET_TEST_WHEELS");
  CompilerSearch search;
  search.wheel_roots = {moved != nullptr ? moved : CUBINET_TEST_WHEELS};
  search.usual_toolkits.clear();
  const auto found = find_compilers(search);
  if (!found.empty() && found.front().source == CompilerCandidate::Source::wheel) return search;
  skip("no NVRTC in '" + search.wheel_roots.front() +
       "': scripts/test.sh fetches the one of scripts/test_wheels.txt from PyPI");
  return std::nullopt;
}

}  // namespace cubinet::test
