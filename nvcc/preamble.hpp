// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cubinet::nvcc {

inline constexpr const char* kPreambleName = "nvcc_preamble.cuh";

// Returns the text that is included before the first line of each source. It declares what nvcc
// declares by itself and NVRTC does not.
std::string_view preamble();

}  // namespace cubinet::nvcc
