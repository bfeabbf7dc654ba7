// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conversions.hpp"

namespace cubinet_python {

// Counts a thread that is inside the library, from before it enters until it has returned.
class LibraryUse {
 public:
  LibraryUse();
  ~LibraryUse();
  LibraryUse(const LibraryUse&) = delete;
  LibraryUse& operator=(const LibraryUse&) = delete;
};

// Releases the GIL while it exists, for a call of the library. If the interpreter ends meanwhile,
// Python before 3.14 ends the thread with pthread_exit(), whose unwinding would abort the process
// at the first noexcept function. Such a thread sleeps until the process ends instead, as it does
// in Python 3.14. So does a thread that begins a call after end_calls().
class WithoutGil {
 public:
  WithoutGil();
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// Returns whether the interpreter ends.
bool calls_have_ended();

// Waits until no other thread is inside the library, and lets none begin a call. Called with the
// GIL held when the interpreter ends: the destructors of the process's libraries, such as NVRTC's,
// then run with no thread inside. Gives up after half a minute. Raises what a signal handler
// raises.
void end_calls();

}  // namespace cubinet_python
