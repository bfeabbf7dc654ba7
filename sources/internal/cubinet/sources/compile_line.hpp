// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/spec/image_target.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace cubinet {

// A line of nvcc that makes a cubin or PTX of one source for one target.
struct CompileLine {
  std::string source;  // as written
  std::string output;  // as written, or nvcc's default: the source's name in the working folder
  SmTarget target;
  ImageKind kind = ImageKind::cubin;
  std::vector<std::string> flags;                // for NVRTC
  std::vector<std::string> include_directories;  // in the order in which they are searched
  std::size_t system_directories = 0;            // so many of these, the last ones, are system folders
};

// Reads the arguments of nvcc. Returns unsupported, with the reason as message, for every line that
// NVRTC cannot answer as nvcc would. The reason begins with a lower-case letter and names the
// option.
Result<CompileLine> parse_compile_line(const std::vector<std::string>& arguments);

// Returns whether one of the flags states an architecture.
bool states_architecture(const std::vector<std::string>& flags);

}  // namespace cubinet
