// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention_arguments.hpp"
#include "context.hpp"

#include <cubinet/session/device_choice.hpp>

#include <string>
#include <vector>

namespace cubinet::cli {

// --device, --sm-count and --problems: a DeviceRequest as text. Each line of the file is a problem
// in the options of `select attention`.
struct DeviceFilter {
  DeviceArguments device;
  std::string problems;

  bool empty() const { return device.device.empty(); }
};
void add_device_filter(CLI::App& verb, DeviceFilter& filter);
// Adds the same options to a verb that builds. In that case --device and --problems require each
// other.
void add_built_problems(CLI::App& verb, DeviceFilter& filter);

// Reads the problems. The message of invalid_argument names the line that is not a problem, or the
// wrong option.
Result<DeviceRequest> device_request_of(const Context& context, const DeviceFilter& filter);

// Returns "\nnot served: LINE: REASON" for each problem.
std::string unserved_text(const std::vector<UnservedProblem>& unserved);

}  // namespace cubinet::cli
