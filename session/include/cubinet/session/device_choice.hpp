// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/device_facts.hpp>
#include <cubinet/attention/shared_prefix.hpp>
#include <cubinet/cubin_registry/store.hpp>
#include <cubinet/session/session_options.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// A device and the problems that it will run. A plain value.
struct DeviceRequest {
  struct Problem {
    std::string text;  // as the caller wrote it, for results and messages
    AttentionProblem problem;
    // If set, `problem` is its own part.
    std::optional<SharedPrefixProblem> shared_prefix = std::nullopt;
  };
  DeviceFacts device;                  // only the capability counts if there are no problems
  std::vector<Problem> problems = {};  // empty: everything that the device can use
};

// A problem that no kernel of a store serves, and the reason.
struct UnservedProblem {
  std::string text;  // DeviceRequest::Problem::text
  std::string reason;
};

// The part of a store that a device needs.
struct DeviceChoice {
  CubinRecords records;
  std::vector<UnservedProblem> unserved = {};
};

// Returns the subset of `records` that the device needs, in their order. `store` lists `records`.
// For problems, returns the builds that their plans choose from the store, and the kernels that
// follow them (a reduction) if the store has them. Compiles nothing.
Result<DeviceChoice> choose_for_device(const SessionOptions& session, const DeviceRequest& request,
                                       const std::shared_ptr<Store>& store, CubinRecords records);

}  // namespace cubinet
