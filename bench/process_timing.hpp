// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <string>
#include <vector>

namespace cubinet::bench {

// Runs a program with its output discarded and returns its seconds. Returns compile_failed if its
// status is not 0.
Result<double> time_process(const std::vector<std::string>& command);

}  // namespace cubinet::bench
