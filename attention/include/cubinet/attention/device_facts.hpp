// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace cubinet {

struct DeviceProperties;  // loader/driver.hpp

// The properties of a device that attention is planned with. A plain value.
struct DeviceFacts {
  ComputeCapability capability;
  std::uint32_t sm_count = 0;
  // Dynamic shared memory that a block may opt in to, in bytes; 0: the capability's limit.
  std::uint32_t maximum_shared_bytes = 0;

  // Returns the facts of a device from the properties that a driver reported.
  static DeviceFacts of(const DeviceProperties& device);
  // Returns the facts of a device by its name ("sm_103" or "10.3") and SM count, without a driver.
  // A count of 0 means the usual count (usual_devices). Returns an error (invalid_argument) for
  // other names, or if no usual count is known.
  static Result<DeviceFacts> named(std::string_view name, std::uint32_t sm_count = 0);

  std::uint32_t shared_limit() const {
    return maximum_shared_bytes != 0 ? maximum_shared_bytes : maximum_shared_bytes_per_block(capability);
  }
};

// Returns the devices whose SM count DeviceFacts::named knows: "8.0 (A100), 9.0 (H100 and H200,
// SXM), …".
std::string usual_devices();

// Returns an error (invalid_argument) for facts that no device has.
Result<void> check_device(const DeviceFacts& device);

}  // namespace cubinet
