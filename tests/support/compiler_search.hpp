// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/jit/compile_options.hpp>

namespace cubinet::test {

// The folder whose lib64/ or lib/ has the NVRTC that the tests are to use: that of the headers they were
// built with, a toolkit or NVIDIA's wheels, or what CUBINET_TEST_CUDA_ROOT names where the tree was moved to
// another machine.
const char* cuda_root();

// The default search with that folder before all others: an older toolkit may lie in the usual place.
CompilerSearch compiler_search();

}  // namespace cubinet::test
