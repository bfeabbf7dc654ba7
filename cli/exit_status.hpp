// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/error.hpp>

namespace cubinet::cli {

// The tool's exit statuses. A verb that is interrupted by SIGINT cleans up and then ends by that
// signal, as shells expect.
enum class ExitStatus : int {
  done = 0,
  negative = 1,     // damage was found, or there is no answer
  usage = 2,        // wrong usage or input
  environment = 3,  // no driver, no compiler, home not usable, disk full
};

// Returns the exit status for an error code. A verb that needs another status passes it to
// Context::fail.
ExitStatus exit_status_of(ErrorCode code);

}  // namespace cubinet::cli
