// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace cubinet::nvcc {

inline constexpr const char* kPreambleName = "nvcc_preamble.cuh";

// Returns the text that is included before the first line of a source. It declares what nvcc
// declares by itself and NVRTC does not. It undefines macros that NVRTC alone defines, unless a
// flag of the source defines them.
std::string preamble(const std::vector<std::string>& flags);

// Returns the texts of headers that would declare other parameters under NVRTC than under nvcc, by
// the names that #include gives. Each includes the original. A header is contained only if one of
// the folders has it.
std::map<std::string, std::string> adapted_headers(const std::vector<std::string>& folders);

// Returns a digest of everything here, for the version.
std::string preamble_digest();

}  // namespace cubinet::nvcc
