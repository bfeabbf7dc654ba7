// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

namespace cubinet {

// Marks the calling thread while it runs a callback that is called in the middle of an operation: a
// log sink or a range hook. The thread may hold locks and other threads may wait for its operation,
// so a call from the callback must not wait for either.
class SinkScope {
 public:
  SinkScope();
  ~SinkScope();
  SinkScope(const SinkScope&) = delete;
  SinkScope& operator=(const SinkScope&) = delete;

  // Returns busy inside such a callback. `what`: "request a kernel that is not loaded".
  static Result<void> check_outside(const char* what);
};

}  // namespace cubinet
