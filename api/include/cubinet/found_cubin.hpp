// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/store.hpp>
#include <cubinet/spec/cubin.hpp>

namespace cubinet {

// A kernel's bytes and their source. Times are in seconds.
struct FoundCubin {
  Cubin cubin;
  KernelSource source = KernelSource::registry;
  double find_seconds = 0;     // look-up, fetching, reading and verification
  double compile_seconds = 0;  // by the compiler, and keeping the build
  double wait_seconds = 0;     // for the build of another thread or process
};

}  // namespace cubinet
