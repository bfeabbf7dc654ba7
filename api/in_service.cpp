// SPDX-License-Identifier: Apache-2.0
#include "runtime_implementation.hpp"

#include <algorithm>

namespace cubinet {

// Reads the stores without a lock, so that an observer may call it, too.
Result<void> RuntimeImplementation::freeze(const FreezeOptions& options) {
  CUBINET_TRY(check_process());
  const auto devices = environment_.open_devices();
  CUBINET_TRY(frozen_fallbacks(options, devices, owner_.get()));
  FrozenState state;
  state.changes = library_.changes() + freeze_.thaws();
  for (const auto& device : devices) {
    const ComputeCapability capability = device->properties().capability;
    if (state.rows.contains(capability)) continue;
    CUBINET_TRY_ASSIGN(state.rows[capability], DeviceRowReader(library_, kernels_, source_).rows(capability));
  }
  {
    const auto lock = freeze_.hold_loaded();
    // A fallback may have been released since.
    CUBINET_TRY_ASSIGN(FrozenState checked, frozen_fallbacks(options, devices, owner_.get()));
    state.fallbacks = std::move(checked.fallbacks);
    freeze_.freeze(std::move(state));
  }
  source_.images().clear();
  return {};
}

Result<TrimmedModules> RuntimeImplementation::trim(std::uint64_t bytes, std::optional<int> device) {
  CUBINET_TRY(check_process());
  source_.images().clear();
  auto trimmed = trim_modules(bytes, device);
  if (!trimmed) return trimmed;
  counters_.count(*trimmed);
  return trimmed;
}

Result<TrimmedModules> RuntimeImplementation::trim_modules(std::uint64_t bytes, std::optional<int> device) {
  CUBINET_TRY_ASSIGN(TrimmedModules trimmed, modules_.trim(bytes, device));
  if (trimmed.bytes >= bytes) return trimmed;
  std::uint64_t retiring = 0;
  for (const CachedKernel::Idle& idle : kernels_.idle(modules_.tick())) {
    if (device && idle.device != *device) continue;
    if (retiring >= bytes - trimmed.bytes) break;
    const auto lock = freeze_.hold_loaded();
    if (frozen()) break;  // it could not load them again
    if (idle.kernel->forget_if_idle(idle.device)) retiring += idle.bytes;
  }
  CUBINET_TRY_ASSIGN(const TrimmedModules more, modules_.trim(bytes - trimmed.bytes, device));
  trimmed.modules += more.modules;
  trimmed.bytes += more.bytes;
  return trimmed;
}

Result<ModuleMemory> RuntimeImplementation::memory(std::optional<int> device) const {
  CUBINET_TRY(check_process());
  const std::vector<CachedKernel::Idle> kernels = kernels_.idle(0);
  ModuleMemory memory = modules_.memory(device);
  for (const CachedKernel::Idle& idle : kernels) {
    if (device && idle.device != *device) continue;
    ++memory.idle_modules;
    memory.idle_bytes += idle.bytes;
  }
  // An idle module may have been retired or unloaded since.
  memory.idle_modules = std::min(memory.idle_modules, memory.modules - memory.retired_modules);
  memory.idle_bytes = std::min(memory.idle_bytes, memory.bytes - memory.retired_bytes);
  return memory;
}

}  // namespace cubinet
