// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace cubinet {

// The kinds of error that a caller may want to branch on. Their names are part of the CLI's JSON
// output.
enum class ErrorCode {
  invalid_argument,  // the caller's input is wrong: a name, a value, a combination, a file's syntax
  not_found,         // a named object that must exist does not
  unsupported,       // this device, driver, compiler or build cannot do it
  unavailable,       // the environment lacks something: no driver, no compiler, no usable home
  compile_failed,    // the compiler ran and rejected the source; `detail` holds its log
  corruption,        // stored bytes do not match their digest or format
  untrusted,         // the bytes or their owner are not trusted, whatever the bytes contain
  io,                // the operating system refused a file operation
  busy,              // another owner held a lock for longer than the time limit
  driver,            // the CUDA driver returned an error
  internal,          // an invariant of this library is broken
};

std::string_view to_string(ErrorCode code);

// The error type of the whole library. It is a plain value: copyable, comparable by code, without
// hidden state.
struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message = {};  // names the object and the reason; one sentence, no trailing newline
  std::string remedy = {};   // states what the reader can do; may be empty
  std::string detail = {};   // long text such as a compiler's log; may be empty
  // The errno, CUresult or nvrtcResult that caused it; 0 if there is none.
  long native = 0;

  // Returns "message (remedy)" on one line, for logs and stderr.
  std::string to_line() const;
};

// Returns the error of a failed system call. Appends the text of `error_number` to `what`.
Error io_error(std::string what, int error_number, std::string remedy = {});

}  // namespace cubinet
