// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cubinet {

// The loaded modules of a Runtime and their bytes on the device (Module::bytes), by state.
struct ModuleMemory {
  std::uint64_t modules = 0;  // all loaded modules
  std::uint64_t bytes = 0;
  // Kept by the process cache alone. trim() unloads them if the retired ones are not enough.
  std::uint64_t idle_modules = 0;
  std::uint64_t idle_bytes = 0;
  // Kept by nothing since Runtime::release(). trim() unloads them first.
  std::uint64_t retired_modules = 0;
  std::uint64_t retired_bytes = 0;
};

// The modules that a trim has unloaded.
struct TrimmedModules {
  std::uint64_t modules = 0;
  std::uint64_t bytes = 0;
};

// A limit of the bytes of loaded modules on each device. 0: none. It never unloads anything.
struct ModuleLimit {
  enum class Excess {
    error,    // a load beyond the limit returns unavailable
    warning,  // a load beyond the limit logs a warning
  };
  std::uint64_t bytes = 0;
  Excess excess = Excess::error;
};

}  // namespace cubinet
