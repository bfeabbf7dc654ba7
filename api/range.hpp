// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/sink_scope.hpp>
#include <cubinet/runtime.hpp>

#include <string>

namespace cubinet {

// Reports a phase to the hook from its construction to its end. Does nothing without a hook.
class Range {
 public:
  Range(const RangeHook& hook, const char* phase, const KernelSpec& spec)
      : hook_(hook.begin && hook.end ? &hook : nullptr) {
    if (hook_ == nullptr) return;
    const SinkScope scope;
    hook.begin((std::string("cubinet ") + phase + " " + spec.to_string()).c_str());
  }
  ~Range() {
    if (hook_ == nullptr) return;
    const SinkScope scope;
    hook_->end();
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  const RangeHook* hook_;
};

}  // namespace cubinet
