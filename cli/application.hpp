// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/session/environment.hpp>

#include <string>

namespace cubinet::cli {

// Parses the line, runs the verb, reports errors and returns the exit status: the whole tool except
// main(). Data is appended to `output`, or written to stdout if it is null. Throws only if there is
// not enough memory to report an error.
int run(int argc, const char* const* argv, const EnvironmentVariables& environment,
        std::string* output = nullptr);

}  // namespace cubinet::cli
