// SPDX-License-Identifier: Apache-2.0
#include "deferred_calls.hpp"

#include <new>
#include <utility>

namespace cubinet {
namespace {

thread_local unsigned callbacks_entered = 0;

}  // namespace

DeferredCalls::CallbackScope::CallbackScope() {
  ++callbacks_entered;
}

DeferredCalls::CallbackScope::~CallbackScope() {
  --callbacks_entered;
}

bool DeferredCalls::in_callback() {
  return callbacks_entered != 0;
}

void DeferredCalls::add(Call call) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    calls_.push_back(std::move(call));
    // The module stays loaded until the process ends.
  } catch (const std::bad_alloc&) {
  }
}

void DeferredCalls::run(const DriverApi& api) {
  if (in_callback()) return;
  std::vector<Call> calls;
  {
    const std::lock_guard lock(mutex_);
    calls.swap(calls_);
  }
  for (const Call& call : calls)
    call(api);
}

}  // namespace cubinet
