// SPDX-License-Identifier: Apache-2.0
#include "exit_status.hpp"

namespace cubinet::cli {

ExitStatus exit_status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return ExitStatus::usage;
    case ErrorCode::not_found:
      return ExitStatus::usage;
    case ErrorCode::compile_failed:
      return ExitStatus::usage;
    case ErrorCode::corruption:
      return ExitStatus::negative;
    case ErrorCode::internal:
      return ExitStatus::negative;
    case ErrorCode::unsupported:
      return ExitStatus::environment;
    case ErrorCode::unavailable:
      return ExitStatus::environment;
    case ErrorCode::untrusted:
      return ExitStatus::environment;
    case ErrorCode::io:
      return ExitStatus::environment;
    case ErrorCode::busy:
      return ExitStatus::environment;
    case ErrorCode::driver:
      return ExitStatus::environment;
  }
  return ExitStatus::negative;
}

}  // namespace cubinet::cli
