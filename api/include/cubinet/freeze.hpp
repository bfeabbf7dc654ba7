// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cubinet {

class Kernel;

// A kernel and the loaded kernel that is served in its place while a Runtime is frozen. Both take
// the same arguments, which is the caller's promise. Their entry points have the same names, or
// requests name none.
struct Fallback {
  std::shared_ptr<const Kernel> kernel;
  std::shared_ptr<const Kernel> substitute;
};

// The options of Runtime::freeze().
struct FreezeOptions {
  // Applies on each device on which the substitute is loaded and the kernel is not. A kernel has
  // one substitute: the last entry counts.
  std::vector<Fallback> fallbacks = {};
};

// The requests of one caller for one kernel on one device that a frozen Runtime refused.
struct Refusal {
  // KernelSpec::to_string(), or the attention problem if there is no plan for it.
  std::string kernel;
  int device = -1;
  std::string caller;  // CallerLabel; may be empty
  std::uint64_t count = 0;
};

// The most entries of Refusals::entries.
inline constexpr std::size_t kMaximumRefusals = 1024;

// The counts since the last freeze() of a Runtime that was not frozen.
struct Refusals {
  bool frozen = false;           // Runtime::frozen()
  std::vector<Refusal> entries;  // in order of kernel, device and caller
  std::uint64_t others = 0;      // refused requests beyond kMaximumRefusals entries
  std::uint64_t fallbacks = 0;   // requests that a substitute served
};

}  // namespace cubinet
