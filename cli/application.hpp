// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/session/environment.hpp>

namespace cubinet::cli {

// Parses the line, runs the verb, reports errors and returns the exit status: the whole tool except
// main(). Throws only if there is not enough memory to report an error.
int run(int argc, const char* const* argv, const EnvironmentVariables& environment);

}  // namespace cubinet::cli
