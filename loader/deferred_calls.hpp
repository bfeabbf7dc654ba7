// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <mutex>
#include <vector>

namespace cubinet {

struct DriverApi;

// Calls of the driver that a destructor of a graph's user object owes. The driver forbids calls
// inside it. They are made by the next load, trim or unload. Belongs to a Driver. Thread-safe.
class DeferredCalls {
 public:
  using Call = std::function<void(const DriverApi& api)>;

  // A scope in which the calling thread is inside a callback of the driver.
  class CallbackScope {
   public:
    CallbackScope();
    ~CallbackScope();
    CallbackScope(const CallbackScope&) = delete;
    CallbackScope& operator=(const CallbackScope&) = delete;
  };
  static bool in_callback();

  // Keeps the call. If memory is exhausted, the call is never made.
  void add(Call call) noexcept;
  // Makes the calls in the order in which they were added. No lock is held meanwhile. Does nothing
  // inside a callback of the driver.
  void run(const DriverApi& api);

 private:
  std::mutex mutex_;
  std::vector<Call> calls_;
};

}  // namespace cubinet
