// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/session/environment.hpp>

namespace cubinet::cli {

// The whole tool but for main: parses, runs the verb, reports whatever goes wrong, gives the exit
// status. Throws only when there is not the memory to report.
int run(int argc, const char* const* argv, const EnvironmentVariables& environment);

}  // namespace cubinet::cli
