// SPDX-License-Identifier: Apache-2.0
#include "freeze_state.hpp"

namespace cubinet {

std::shared_ptr<const FrozenState> FreezeSwitch::state() const {
  if (!frozen()) return nullptr;
  const std::lock_guard lock(mutex_);
  return state_;
}

bool FreezeSwitch::freeze(std::shared_ptr<const FrozenState> state) {
  const std::lock_guard lock(mutex_);
  const bool was_frozen = state_ != nullptr;
  state_ = std::move(state);
  frozen_.store(true, std::memory_order_release);
  return !was_frozen;
}

bool FreezeSwitch::thaw() {
  std::shared_ptr<const FrozenState> ended;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  frozen_.store(false, std::memory_order_release);
  ended.swap(state_);
  if (ended == nullptr) return false;
  thaws_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

Error frozen_miss(const KernelSpec& spec, int device) {
  return Error{
      ErrorCode::not_found,
      spec.to_string() + " is not loaded on device " + std::to_string(device) + ", and the Runtime is frozen",
      "load it with `Runtime::function()` before `Runtime::freeze()`, or call `Runtime::thaw()`"};
}

Error frozen_stores(const std::string& subject) {
  return Error{ErrorCode::unavailable, subject + ": the stores are not read, because the Runtime is frozen",
               "do it before `Runtime::freeze()`, or call `Runtime::thaw()`"};
}

}  // namespace cubinet
