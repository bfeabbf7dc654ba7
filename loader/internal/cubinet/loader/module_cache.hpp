// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/loader/module.hpp>

#include <cstddef>
#include <memory>

namespace cubinet {

// A cache of loaded modules by (device, digest of the image), so that the same bytes are loaded
// once per device. It holds weak references: an unused module is unloaded. Thread-safe. Threads
// that request the same module at once load it once and share the result. Different modules load
// concurrently, without a lock.
class ModuleCache {
 public:
  ModuleCache();
  ~ModuleCache();
  // Returns the cached module or loads it, with the errors of Module::load. Failures are not
  // cached. Bytes under a record with other entry points are loaded again, because a launch must
  // follow the record of its request.
  Result<std::shared_ptr<const Module>> get_or_load(const std::shared_ptr<const Device>& device,
                                                    const Cubin& cubin);
  std::size_t size() const;  // number of currently loaded modules

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cubinet
