// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/error.hpp>

namespace cubinet::cli {

// The tool's exit statuses. A verb that ends by SIGINT is killed by it after it has tidied up, as
// shells expect.
enum class ExitStatus : int {
  done = 0,
  negative = 1,     // damage was found, or there is no answer
  usage = 2,        // wrong usage or input
  environment = 3,  // no driver, no compiler, home not usable, disk full
};

// The one table from errors to exit statuses; a verb that knows better says so when it reports the
// error.
ExitStatus exit_status_of(ErrorCode code);

}  // namespace cubinet::cli
