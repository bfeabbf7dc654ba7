// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace cubinet {

// What went wrong, as far as a caller may want to branch on it. The names are part of the CLI's JSON output.
enum class ErrorCode {
  invalid_argument,  // the caller's input is wrong: a name, a value, a combination, a file's syntax
  not_found,         // something that was asked for by name and has to exist does not
  unsupported,       // understood, but this device, driver, compiler or build cannot do it
  unavailable,       // the environment lacks something: no driver, no compiler, no usable home
  compile_failed,    // the compiler ran and refused the source; detail() holds its log
  corruption,        // stored bytes are not what their digest or format says
  untrusted,         // the bytes or their owner may not be used, whatever they hold
  io,                // the operating system refused an operation on a file
  busy,              // somebody else holds a lock for longer than we are willing to wait
  driver,            // the CUDA driver answered with an error
  internal,          // a broken invariant of this library
};

std::string_view to_string(ErrorCode code);

// The one error type of the library. A value: copyable, comparable by code, no hidden state.
struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message = {};  // names the object and the reason; one sentence, no trailing newline
  std::string remedy = {};   // what the reader can do about it; may be empty
  std::string detail = {};   // long text that belongs to it, such as a compiler's log; may be empty
  long native = 0;           // the errno, CUresult or nvrtcResult behind it; 0 when there is none

  // "message (remedy)" on one line, for logs and stderr.
  std::string to_line() const;
};

// An error for a failed system call: the text of `error_number` is appended to `what`.
Error io_error(std::string what, int error_number, std::string remedy = {});

}  // namespace cubinet
