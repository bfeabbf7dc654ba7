// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "refusal_counts.hpp"

#include <cubinet/base/log.hpp>
#include <cubinet/kernel_explanation.hpp>
#include <cubinet/runtime.hpp>
#include <cubinet/spec/kernel_spec.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

class CachedKernel;

// The answers of a frozen Runtime, which replace its stores. Immutable.
struct FrozenState {
  // The substitute of each kernel that has one. Kernels live as long as their Runtime.
  std::map<const CachedKernel*, const CachedKernel*> fallbacks;
  std::map<ComputeCapability, DeviceRows> rows;  // of the devices that were open
  std::uint64_t changes = 0;                     // Runtime::store_changes()
};

// Checks the fallbacks and returns a state that has them alone. `owner` is that of the Runtime's
// kernels, `devices` are those that are open. Returns the errors of Runtime::freeze().
Result<FrozenState> frozen_fallbacks(const FreezeOptions& options,
                                     const std::vector<std::shared_ptr<const Device>>& devices,
                                     const void* owner);

// The switch between frozen and thawed, and the requests that are refused while frozen.
// Thread-safe. No lock is held while a store is read or anything is called.
class FreezeSwitch {
 public:
  explicit FreezeSwitch(LogSink log) : log_(std::move(log)) {}

  bool frozen() const { return frozen_.load(std::memory_order_acquire); }
  // Returns nullptr if the Runtime is not frozen.
  std::shared_ptr<const FrozenState> state() const;
  // Keeps a freeze from beginning until the lock ends. A release and a trim hold it from their look
  // at frozen() until the kernel is removed, freeze() while it checks the fallbacks and begins.
  std::unique_lock<std::mutex> hold_loaded() const { return std::unique_lock(loaded_mutex_); }
  // REQUIRES: hold_loaded().
  void freeze(FrozenState state);
  void thaw();
  // Returns the number of thaws. Rows that were read before one may be old.
  std::uint64_t thaws() const { return thaws_.load(std::memory_order_relaxed); }

  // Returns the loaded substitute of a kernel that is not loaded, or refusal().
  Result<Function> serve(const FrozenState& state, const CachedKernel& kernel, int device,
                         std::string_view entry_point, LoadPolicy policy, std::uint64_t now);
  // Counts and logs a request for a kernel that is not loaded, and returns its error.
  Error refusal(const KernelSpec& spec, int device, LoadPolicy policy);
  // Counts a refused request, and logs the first of its kind.
  void count(const std::string& request, int device, const Error& reason);
  Refusals refusals() const;

 private:
  std::atomic<bool> frozen_{false};
  std::atomic<std::uint64_t> thaws_{0};
  RefusalCounts counts_;
  LogSink log_;
  mutable std::mutex loaded_mutex_;
  mutable std::mutex mutex_;
  std::shared_ptr<const FrozenState> state_;
};

// Returns the error of a call that would read the stores.
Error frozen_stores(const std::string& subject);

}  // namespace cubinet
