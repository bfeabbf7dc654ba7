// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arguments.hpp"
#include "values.hpp"

#include <cubinet/c_api/call.hpp>

namespace cubinet::tvm_ffi {

// Raises an error, with the function's name, for the caller. Returns -1. Releases `error`.
int raise(const char* function, cubinet_error* error) noexcept;

// Runs one call: a callable that takes Arguments and returns Result<Value>. Every exception becomes
// an error. Returns 0 if the call succeeded, otherwise -1, as tvm-ffi's convention demands.
template <class Call>
int run_function(const char* function, const Value* values, std::int32_t count, Value* result,
                 const Call& call) noexcept {
  cubinet_error* error = nullptr;
  const cubinet_status status = c_api::run_call(&error, [&]() -> Result<void> {
    Arguments arguments(values, count);
    CUBINET_TRY_ASSIGN(const Value value, call(arguments));
    if (result != nullptr) *result = value;
    return {};
  });
  return status == CUBINET_OK ? 0 : raise(function, error);
}

// Calls a function of the C library, whose last argument is the error, and returns its error.
Result<void> error_of(cubinet_status status, cubinet_error* error);
template <class Call>
Result<void> call_c(const Call& call) {
  cubinet_error* error = nullptr;
  const cubinet_status status = call(&error);
  return status == CUBINET_OK ? Result<void>() : error_of(status, error);
}

}  // namespace cubinet::tvm_ffi
