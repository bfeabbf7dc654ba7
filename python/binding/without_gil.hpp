// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

namespace cubinet_python {

// Releases the GIL while it exists. If the interpreter ends meanwhile, Python before 3.14 ends the
// thread with pthread_exit(), whose unwinding would abort the process at the first noexcept
// function. Such a thread sleeps until the process ends instead, as it does in Python 3.14.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() {
    try {
      PyEval_RestoreThread(state_);
    } catch (const abi::__forced_unwind&) {
      for (;;)
        pause();
    }
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace cubinet_python
