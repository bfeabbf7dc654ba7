// SPDX-License-Identifier: Apache-2.0
#include <cubinet/found_cubin.hpp>

namespace cubinet {

std::string_view to_string(KernelSource source) {
  switch (source) {
    case KernelSource::process:
      return "process";
    case KernelSource::memory:
      return "memory";
    case KernelSource::registry:
      return "registry";
    case KernelSource::bundle:
      return "bundle";
    case KernelSource::compiled:
      return "compiled";
    case KernelSource::imported:
      return "imported";
    case KernelSource::server:
      break;
  }
  return "server";
}

}  // namespace cubinet
