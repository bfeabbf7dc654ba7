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
// nested.
class ResultGuard {
 public:
  ResultGuard();
  ~ResultGuard();
  ResultGuard(const ResultGuard&) = delete;
  ResultGuard& operator=(const ResultGuard&) = delete;
};

}  // namespace cubinet
