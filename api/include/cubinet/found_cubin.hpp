// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/spec/cubin.hpp>

#include <string_view>

namespace cubinet {

// Where a kernel came from. `process`: it was loaded already; `memory`: built earlier by this
// Runtime, which has no store that takes builds; `registry`: a home; `imported`: a folder of
// published cubins; `server`: it was fetched from a server.
enum class KernelSource { process, memory, registry, bundle, compiled, imported, server };
std::string_view to_string(KernelSource source);

// A kernel's bytes and where they came from. Times are in seconds.
struct FoundCubin {
  Cubin cubin;
  KernelSource source = KernelSource::registry;
  double find_seconds = 0;
  double compile_seconds = 0;
};

}  // namespace cubinet
