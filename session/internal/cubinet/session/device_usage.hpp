// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_table/kernel_index.hpp>
#include <cubinet/runtime.hpp>
#include <cubinet/session/session_options.hpp>

#include <nlohmann/json.hpp>

#include <memory>
#include <string>

namespace cubinet {

// The attention kernels of a store that a device can use. These are the rows from which plans
// choose. A plain value.
struct DeviceUsage {
  ComputeCapability device;
  DeviceRows found;
  KernelIndex::Usage usage = {};

  // Counts the rows of a store; nullptr: there are none. Returns the errors of Runtime::rows().
  static Result<DeviceUsage> of(const SessionOptions& session, std::shared_ptr<Store> store,
                                ComputeCapability device);
};

// Returns {"device", "rows", "usable", "by_target", "other_targets", "stale", "foreign",
// "not_understood", "unknown_columns"}.
nlohmann::json describe(const DeviceUsage& usage);
// Returns the same as lines for people, each of which begins with a newline.
std::string to_text(const DeviceUsage& usage);

}  // namespace cubinet
