// SPDX-License-Identifier: Apache-2.0
#include <cubinet/cubin_registry/store.hpp>

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

std::string_view to_string(StoreFinding::Kind kind) {
  switch (kind) {
    case StoreFinding::Kind::damaged_cubin:
      return "damaged_cubin";
    case StoreFinding::Kind::missing_cubin:
      return "missing_cubin";
    case StoreFinding::Kind::damaged_record:
      return "damaged_record";
    case StoreFinding::Kind::unreadable_file:
      return "unreadable_file";
    case StoreFinding::Kind::stray_file:
      return "stray_file";
    case StoreFinding::Kind::damaged_index:
      return "damaged_index";
    case StoreFinding::Kind::damaged_import:
      return "damaged_import";
    case StoreFinding::Kind::damaged_tuning:
      return "damaged_tuning";
    case StoreFinding::Kind::conflicting_build:
      return "conflicting_build";
  }
  return "damaged_index";
}

}  // namespace cubinet
