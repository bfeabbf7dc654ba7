// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/base/result_guard.hpp>
#include <cubinet/cubinet.h>

#include <string>
#include <string_view>
#include <vector>

namespace cubinet::c_api {

// Stores a new C error in `*error`, unless `error` is NULL, and returns its status.
cubinet_status fail(cubinet_error** error, Error reason) noexcept;
// Does the same for the exception that is being handled.
cubinet_status fail_by_exception(cubinet_error** error) noexcept;

// Runs one call of the C library: a callable that returns Result<void>. Every exception, and every
// misuse of a Result, becomes an error. Allocates nothing if the call succeeds.
template <class Call>
cubinet_status run_call(cubinet_error** error, const Call& call) noexcept {
  if (error != nullptr) *error = nullptr;
  try {
    const ResultGuard guard;
    Result<void> done = call();
    return done ? CUBINET_OK : fail(error, std::move(done).error());
  } catch (...) {
    return fail_by_exception(error);
  }
}

// Returns invalid_argument with the name of the argument if it is NULL.
Result<void> check_pointer(const void* pointer, std::string_view name);
// Returns a copy of a string argument. Returns invalid_argument for a length without bytes.
Result<std::string> text_of(cubinet_string text, std::string_view name);
// Returns copies of the words of a command line. Returns invalid_argument for a count that no
// command line has, before the list is read.
Result<std::vector<std::string>> words_of(const cubinet_string* words, std::size_t count);

inline cubinet_string to_c(std::string_view text) {
  return {text.data(), text.size()};
}

// Returns a new text.
cubinet_text* make_text(std::string bytes);

}  // namespace cubinet::c_api
