// SPDX-License-Identifier: Apache-2.0
#include "freeze_state.hpp"

#include "cached_kernel.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/caller_label.hpp>

#include <algorithm>

namespace cubinet {
namespace {

// Returns the kernel of a fallback, or the error of one that is missing or another Runtime's.
Result<const CachedKernel*> checked_kernel(const std::shared_ptr<const Kernel>& kernel, const void* owner) {
  if (kernel == nullptr)
    return Error{ErrorCode::invalid_argument, "a fallback has no kernel", "set both of its kernels"};
  const auto* cached = static_cast<const CachedKernel*>(kernel.get());
  if (cached->owner() == owner) return cached;
  return Error{ErrorCode::invalid_argument, kernel->spec().to_string() + " was resolved by another Runtime",
               "resolve it with this Runtime"};
}

}  // namespace

Result<FrozenState> frozen_fallbacks(const FreezeOptions& options,
                                     const std::vector<std::shared_ptr<const Device>>& devices,
                                     const void* owner) {
  FrozenState state;
  for (const Fallback& fallback : options.fallbacks) {
    CUBINET_TRY_ASSIGN(const CachedKernel* const kernel, checked_kernel(fallback.kernel, owner));
    CUBINET_TRY_ASSIGN(const CachedKernel* const substitute, checked_kernel(fallback.substitute, owner));
    const bool loaded = std::any_of(devices.begin(), devices.end(), [&](const auto& device) {
      return !substitute->loaded(device->ordinal()).empty();
    });
    if (!loaded) {
      return Error{ErrorCode::not_found,
                   substitute->spec().to_string() + ", the fallback of " + kernel->spec().to_string() +
                       ", is not loaded on any device",
                   "load it with `Runtime::function()` before `Runtime::freeze()`"};
    }
    state.fallbacks[kernel] = substitute;
  }
  return state;
}

std::shared_ptr<const FrozenState> FreezeSwitch::state() const {
  if (!frozen()) return nullptr;
  const std::lock_guard lock(mutex_);
  return state_;
}

void FreezeSwitch::freeze(FrozenState state) {
  auto begun = std::make_shared<const FrozenState>(std::move(state));
  const std::lock_guard lock(mutex_);
  if (state_ == nullptr) counts_.reset();
  state_.swap(begun);
  frozen_.store(true, std::memory_order_release);
}

void FreezeSwitch::thaw() {
  std::shared_ptr<const FrozenState> ended;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  frozen_.store(false, std::memory_order_release);
  ended.swap(state_);
  if (ended != nullptr) thaws_.fetch_add(1, std::memory_order_relaxed);
}

Result<Function> FreezeSwitch::serve(const FrozenState& state, const CachedKernel& kernel, int device,
                                     std::string_view entry_point, LoadPolicy policy, std::uint64_t now) {
  const auto fallback = state.fallbacks.find(&kernel);
  if (fallback != state.fallbacks.end()) {
    auto function = fallback->second->find(device, entry_point, now);
    if (function && *function) counts_.note_fallback();
    if (!function || *function) return function;
  }
  return refusal(kernel.spec(), device, policy);
}

Error FreezeSwitch::refusal(const KernelSpec& spec, int device, LoadPolicy policy) {
  Error error{
      ErrorCode::not_found,
      spec.to_string() + " is not loaded on device " + std::to_string(device) + ", and the Runtime is frozen",
      "load it with `Runtime::function()` before `Runtime::freeze()`, or call `Runtime::thaw()`"};
  if (policy != LoadPolicy::loaded_only) count(spec.to_string(), device, error);
  return error;
}

void FreezeSwitch::count(const std::string& request, int device, const Error& reason) {
  const std::string_view caller = CallerLabel::current();
  if (!counts_.note(request, device, caller)) return;
  log(log_, LogLevel::warning,
      reason.to_line() + (caller.empty() ? "" : "; requested by " + printable(caller)));
}

Refusals FreezeSwitch::refusals() const {
  Refusals refusals = counts_.read();
  refusals.frozen = frozen();
  return refusals;
}

Error frozen_stores(const std::string& subject) {
  return Error{ErrorCode::unavailable, subject + ": the stores are not read, because the Runtime is frozen",
               "do it before `Runtime::freeze()`, or call `Runtime::thaw()`"};
}

}  // namespace cubinet
