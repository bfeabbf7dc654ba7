// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/jit/compile_options.hpp>

#include <optional>

namespace cubinet::test {

// The folder whose lib64/ or lib/ has the NVRTC that the tests are to use: that of the headers they were
// built with, a toolkit or NVIDIA's wheels, or what CUBINET_TEST_CUDA_ROOT names where the tree was moved to
// another machine.
const char* cuda_root();

// The default search with that folder before all others: an older toolkit may lie in the usual place.
CompilerSearch compiler_search();

// A later release, of a wheel alone, that goes beside the other (scripts/test_wheels.txt). nullopt, and the
// test is skipped, where it is not installed.
std::optional<CompilerSearch> later_compiler_search();

}  // namespace cubinet::test
