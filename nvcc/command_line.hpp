// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/session/environment.hpp>
#include <cubinet/spec/image_target.hpp>

#include <string>
#include <vector>

namespace cubinet::nvcc {

// A line that makes a cubin or PTX of one source for one target.
struct CompileLine {
  std::string source;  // as written
  std::string output;  // as written, or nvcc's default: the source's name in the working folder
  SmTarget target;
  ImageKind kind = ImageKind::cubin;
  std::vector<std::string> flags;                // for NVRTC
  std::vector<std::string> include_directories;  // also those of the environment
};

// Returns the arguments with those of NVCC_PREPEND_FLAGS before and of NVCC_APPEND_FLAGS behind
// them. Returns unsupported for quoted flags, which nvcc splits by rules of its own.
Result<std::vector<std::string>> with_environment_flags(const std::vector<std::string>& arguments,
                                                        const EnvironmentVariables& environment);

// Returns whether the line requests the version alone.
bool requests_version(const std::vector<std::string>& arguments);

// Reads a complete line. Returns unsupported, with the reason as message, for every line that is
// for nvcc. The reason begins with a lower-case letter and names the option.
Result<CompileLine> parse_command_line(const std::vector<std::string>& arguments,
                                       const EnvironmentVariables& environment);

}  // namespace cubinet::nvcc
