// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/error.hpp>

#include <system_error>

namespace cubinet {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::unavailable:
      return "unavailable";
    case ErrorCode::compile_failed:
      return "compile_failed";
    case ErrorCode::corruption:
      return "corruption";
    case ErrorCode::untrusted:
      return "untrusted";
    case ErrorCode::io:
      return "io";
    case ErrorCode::busy:
      return "busy";
    case ErrorCode::driver:
      return "driver";
    case ErrorCode::internal:
      return "internal";
  }
  return "internal";
}

std::string Error::to_line() const {
  if (remedy.empty()) return message;
  return message + " (" + remedy + ")";
}

Error io_error(std::string what, int error_number, std::string remedy) {
  what += ": " + std::generic_category().message(error_number);
  return Error{ErrorCode::io, std::move(what), std::move(remedy), {}, error_number};
}

}  // namespace cubinet
