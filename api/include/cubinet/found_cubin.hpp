// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/spec/cubin.hpp>

#include <string_view>

namespace cubinet {

// The source of a kernel.
//   process   loaded in this process already
//   memory    built earlier by this Runtime, which has no store that takes builds
//   registry  a home
//   bundle    a bundle
//   compiled  compiled for this request
//   imported  a folder of published cubins
//   server    fetched from a server
enum class KernelSource { process, memory, registry, bundle, compiled, imported, server };
std::string_view to_string(KernelSource source);

// A kernel's bytes and their source. Times are in seconds.
struct FoundCubin {
  Cubin cubin;
  KernelSource source = KernelSource::registry;
  double find_seconds = 0;
  double compile_seconds = 0;
};

}  // namespace cubinet
