// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/adoption/cache_watch.hpp>
#include <cubinet/session/environment.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace cubinet {

// Returns the folders in which Triton, DeepJIT and cuda.core look in a process with these variables
// on a machine with this many devices. For a tool in `named`, these are the named ones. Otherwise:
//
//   triton     TRITON_CACHE_DIR, else PyTorch's TORCHINDUCTOR_CACHE_DIR/triton/DEVICE, if it is
//              set, and Triton's default: .triton/cache in TRITON_HOME or HOME
//   deepjit    the first of DJ_JIT_CACHE_DIR, which ':' separates
//   cuda.core  cuda-python/program-cache in XDG_CACHE_HOME or HOME/.cache
std::vector<ToolCache> tool_caches(const EnvironmentVariables& environment,
                                   const std::vector<ToolCache>& named, std::size_t devices);

}  // namespace cubinet
