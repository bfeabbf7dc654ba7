// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/session/environment.hpp>

#include <string>
#include <vector>

namespace cubinet::nvcc {

// Runs one command line of nvcc, prints to stdout and stderr, and returns the exit status. `own` is
// the path of this executable. Never throws.
int run(const std::vector<std::string>& arguments, const EnvironmentVariables& environment,
        const std::string& own);

}  // namespace cubinet::nvcc
