// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/error.hpp>

namespace cubinet {

// The exception that replaces the end of the program while a ResultGuard exists. The C library
// catches it where it was called, so no other code sees it.
struct ResultMisuse {
  Error error;  // internal
};

// A scope in which the misuse of a Result on this thread throws ResultMisuse instead of ending the
// program. For boundaries to programs that must survive a defect of this library. Scopes may be
// nested. Threads that work for a guarded one and return its exceptions are guarded too.
class ResultGuard {
 public:
  ResultGuard() : ResultGuard(true) {}
  // Guards nothing if `active` is false.
  explicit ResultGuard(bool active);
  ~ResultGuard();
  ResultGuard(const ResultGuard&) = delete;
  ResultGuard& operator=(const ResultGuard&) = delete;

  // Returns whether this thread is in such a scope.
  static bool guards_this_thread();

 private:
  bool active_;
};

}  // namespace cubinet
