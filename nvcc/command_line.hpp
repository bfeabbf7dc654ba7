// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/session/environment.hpp>
#include <cubinet/sources/compile_line.hpp>

#include <string>
#include <vector>

namespace cubinet::nvcc {

// Returns the arguments with those of NVCC_PREPEND_FLAGS before and of NVCC_APPEND_FLAGS behind
// them. Returns unsupported for quoted flags, which nvcc splits by rules of its own.
Result<std::vector<std::string>> with_environment_flags(const std::vector<std::string>& arguments,
                                                        const EnvironmentVariables& environment);

// Returns whether the line requests the version alone.
bool requests_version(const std::vector<std::string>& arguments);

// Reads a complete line (parse_compile_line), with the folders that the environment names behind
// those of the line. Returns unsupported, with the reason as message, for every line that is for
// nvcc.
Result<CompileLine> parse_command_line(const std::vector<std::string>& arguments,
                                       const EnvironmentVariables& environment);

}  // namespace cubinet::nvcc
