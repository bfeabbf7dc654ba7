// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/jit/compile_options.hpp>

#include <optional>

namespace cubinet::test {

// Returns the folder whose lib64/ or lib/ has the NVRTC for the tests. It is the folder of the
// headers that the tests were built with, a toolkit or NVIDIA's wheels. CUBINET_TEST_CUDA_ROOT
// replaces it if the tree was moved to another machine.
const char* cuda_root();

// Returns the default search with that folder before all others, because an older toolkit may exist
// in the default location.
CompilerSearch compiler_search();

// Returns the search for a later release from a wheel that can be used beside the other one
// (scripts/test_wheels.txt). Returns nullopt if it is not installed, and the test is skipped.
std::optional<CompilerSearch> later_compiler_search();

}  // namespace cubinet::test
