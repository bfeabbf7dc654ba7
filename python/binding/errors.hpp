// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conversions.hpp"
#include "log.hpp"
#include "without_gil.hpp"

#include <cubinet/cubinet.h>

#include <string>
#include <string_view>

namespace cubinet_python {

// Raises the exception class of the error's code (cubinet/errors.py), and releases the error.
[[noreturn]] void raise(cubinet_error* error);
// Raises InvalidArgument.
[[noreturn]] void refuse(std::string_view message, std::string_view remedy);
// Raises Busy.
[[noreturn]] void refuse_busy(std::string_view message, std::string_view remedy);

// Calls a function of the C library without the GIL: a callable that takes `cubinet_error**` and
// returns a status. Passes the log lines of the call to `logging` and raises its error.
template <class Call>
void call(const Call& function) {
  cubinet_error* error = nullptr;
  cubinet_status status = CUBINET_OK;
  {
    const WithoutGil without_gil;
    status = function(&error);
  }
  deliver_log_lines();
  if (status != CUBINET_OK) raise(error);
}

}  // namespace cubinet_python
