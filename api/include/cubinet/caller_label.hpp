// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace cubinet {

// The most bytes of a caller's label. A longer one is cut after a whole UTF-8 character.
inline constexpr std::size_t kMaximumCallerLabel = 64;

// A scope that labels the requests of the calling thread, for example "decode". Events
// (KernelEvent::caller) and refusals (Runtime::refusals) name the label. Scopes may be nested; the
// innermost counts. The label belongs to the thread: threads that it starts have none. Must be
// destroyed on its thread, in the reverse order of construction. Allocates nothing. A hit in the
// process cache does not read it.
class CallerLabel {
 public:
  explicit CallerLabel(std::string_view label);
  ~CallerLabel();
  CallerLabel(const CallerLabel&) = delete;
  CallerLabel& operator=(const CallerLabel&) = delete;

  // Returns the calling thread's label; empty if it has none. Valid until the label changes.
  static std::string_view current();
  // Replaces the calling thread's label until the innermost scope ends. For callers that cannot
  // keep an object. Empty: no label.
  static void set(std::string_view label);

 private:
  std::array<char, kMaximumCallerLabel> outer_;
  std::size_t outer_size_;
};

}  // namespace cubinet
