// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/loader/module.hpp>
#include <cubinet/loader/module_memory.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace cubinet {

// The loaded modules of one Runtime by (device, digest of the image), so that the same bytes are
// loaded once per device. It keeps every module until trim() or its own end; a module without
// another owner is retired. Thread-safe. Threads that request the same module at once load it once
// and share the result. Different modules load concurrently, without a lock.
class ModuleCache {
 public:
  explicit ModuleCache(ModuleLimit limit = {}, LogSink log = {});
  ~ModuleCache();
  // Returns the cached module or loads it, with the errors of Module::load, and unavailable if the
  // limit forbids the load. Failures are not cached. Bytes under a record with other entry points
  // are loaded again, because a launch must follow the record of its request.
  Result<std::shared_ptr<const Module>> get_or_load(const std::shared_ptr<const Device>& device,
                                                    const Cubin& cubin);

  // Unloads retired modules, least recently used first, until at least `bytes` are freed. First
  // waits for their devices; a request takes a module back meanwhile. Returns busy, and unloads
  // nothing, during a capture on one of them.
  // nullopt: all devices.
  Result<TrimmedModules> trim(std::uint64_t bytes, std::optional<int> device = {});
  // Removes every module of a device from the cache, for a device whose context was reset. Those
  // without another owner are unloaded. A load in progress ends, and its module is not kept.
  void forget(int device);
  // Counts the modules, without the idle ones, which only the process cache knows.
  ModuleMemory memory(std::optional<int> device = {}) const;

  // Returns the bytes of the images that were loaded (CubinRecord::size). A module that is used
  // again does not count again. Takes no lock.
  std::uint64_t loaded_image_bytes() const;
  // Returns the time at which modules are used: the number of loads, trims and ticks so far.
  std::uint64_t now() const;
  // Begins a new time. Modules with another owner count as used at it.
  std::uint64_t tick();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cubinet
