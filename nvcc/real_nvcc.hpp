// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/session/environment.hpp>

#include <string>
#include <vector>

namespace cubinet::nvcc {

// Set in the environment of nvcc, so that a script that calls cubinet-nvcc again is found out.
inline constexpr std::string_view kInsideVariable = "CUBINET_NVCC_INSIDE";

// Returns the path of the real nvcc: CUBINET_NVCC, or `bin/nvcc` of CUDA_HOME and CUDA_PATH, or the
// first `nvcc` of PATH, or that of /usr/local/cuda. `own` is this executable, which is skipped.
// Returns invalid_argument if CUBINET_NVCC names `own` or no executable, or if this process was
// started by cubinet-nvcc as its nvcc, and not_found if there is no nvcc.
Result<std::string> find_real_nvcc(const EnvironmentVariables& environment, const std::string& own);

// Runs nvcc with these arguments and this environment, and waits. Returns its exit status, or 128
// plus the signal that ended it.
Result<int> run_real_nvcc(const std::string& nvcc, const std::vector<std::string>& arguments,
                          const EnvironmentVariables& environment);

// Replaces this process by nvcc, which thus receives its signals. Returns only if that fails.
Error become_real_nvcc(const std::string& nvcc, const std::vector<std::string>& arguments,
                       const EnvironmentVariables& environment);

}  // namespace cubinet::nvcc
