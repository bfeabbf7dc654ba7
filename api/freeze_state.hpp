// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_explanation.hpp>
#include <cubinet/runtime.hpp>
#include <cubinet/spec/kernel_spec.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace cubinet {

class CachedKernel;

// What a frozen Runtime answers with instead of its stores. Immutable.
struct FrozenState {
  // The substitute of each kernel that has one. Kernels live as long as their Runtime.
  std::map<const CachedKernel*, const CachedKernel*> fallbacks;
  std::map<ComputeCapability, DeviceRows> rows;  // of the devices that were open
  std::uint64_t changes = 0;                     // Runtime::store_changes()
};

// Whether a Runtime is frozen. Thread-safe. No lock is held while anything is read or called.
class FreezeSwitch {
 public:
  bool frozen() const { return frozen_.load(std::memory_order_acquire); }
  // Returns nullptr if the Runtime is not frozen.
  std::shared_ptr<const FrozenState> state() const;
  // Returns true if the Runtime was not frozen.
  bool freeze(std::shared_ptr<const FrozenState> state);
  // Returns true if the Runtime was frozen.
  bool thaw();
  // Returns the number of thaws. Rows that were read before one may be old.
  std::uint64_t thaws() const { return thaws_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> frozen_{false};
  std::atomic<std::uint64_t> thaws_{0};
  mutable std::mutex mutex_;
  std::shared_ptr<const FrozenState> state_;
};

// Return the errors of a frozen Runtime: of a request for a kernel that is not loaded, and of a
// call that would read the stores.
Error frozen_miss(const KernelSpec& spec, int device);
Error frozen_stores(const std::string& subject);

}  // namespace cubinet
