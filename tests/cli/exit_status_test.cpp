// SPDX-License-Identifier: Apache-2.0
#include "exit_status.hpp"

#include <doctest/doctest.h>

using cubinet::ErrorCode;
using cubinet::cli::exit_status_of;
using cubinet::cli::ExitStatus;

TEST_CASE("every error has the exit status that the documentation gives it") {
  CHECK(exit_status_of(ErrorCode::invalid_argument) == ExitStatus::usage);
  CHECK(exit_status_of(ErrorCode::not_found) == ExitStatus::usage);
  CHECK(exit_status_of(ErrorCode::compile_failed) == ExitStatus::usage);
  CHECK(exit_status_of(ErrorCode::corruption) == ExitStatus::negative);
  CHECK(exit_status_of(ErrorCode::internal) == ExitStatus::negative);
  for (const ErrorCode code : {ErrorCode::unsupported, ErrorCode::unavailable, ErrorCode::untrusted,
                               ErrorCode::io, ErrorCode::busy, ErrorCode::driver}) {
    CHECK(exit_status_of(code) == ExitStatus::environment);
  }
  CHECK(static_cast<int>(ExitStatus::done) == 0);
  CHECK(static_cast<int>(ExitStatus::negative) == 1);
  CHECK(static_cast<int>(ExitStatus::usage) == 2);
  CHECK(static_cast<int>(ExitStatus::environment) == 3);
}
