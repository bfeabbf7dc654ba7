// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/loader/module.hpp>

#include <cstddef>
#include <memory>

namespace cubinet {

// Loaded modules by (device, digest of the image): the same bytes are loaded once a device. Weak: a module
// that nobody uses any more is unloaded. Thread-safe; threads that ask for the same module at once load it
// once and share the outcome, different modules load at the same time, and no lock is held meanwhile.
class ModuleCache {
 public:
  ModuleCache();
  ~ModuleCache();
  // Errors are Module::load's. Failures are not remembered. Bytes that are loaded under a record with other
  // entry points are loaded again: a launch has to follow the record it was asked for with.
  Result<std::shared_ptr<const Module>> get_or_load(const std::shared_ptr<const Device>& device,
                                                    const Cubin& cubin);
  std::size_t size() const;  // modules loaded now

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cubinet
