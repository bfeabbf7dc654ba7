// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// The compute capability of a device: 9.0, 10.3, 12.1.
struct ComputeCapability {
  std::uint16_t major = 0;
  std::uint16_t minor = 0;

  // Accepts "9.0", "90" and "sm_90". Returns invalid_argument for any other text. The device need
  // not be known.
  static Result<ComputeCapability> parse(std::string_view text);
  // Parses the name of a device that a person writes. Returns invalid_argument, with the known
  // devices, if no known target has this capability. A driver may report newer devices.
  static Result<ComputeCapability> parse_known(std::string_view text);
  std::string to_string() const;  // "9.0"

  friend auto operator<=>(const ComputeCapability&, const ComputeCapability&) = default;
};

// The degree to which machine code depends on a device. The feature sets are nested: baseline <
// family < specific. Stored in keys and records: DO NOT RENUMBER.
enum class TargetKind : std::uint8_t {
  baseline = 0,  // sm_90: runs on later minors of the same major
  specific = 1,  // sm_90a: this compute capability only, all of its features
  family = 2,    // sm_100f: the members of its family (CUDA 12.9 and later, 10.0 and up)
};

// The target that machine code is built for. A plain value.
struct SmTarget {
  std::uint16_t major = 0;
  std::uint16_t minor = 0;
  TargetKind kind = TargetKind::baseline;

  // Parses "sm_90", "sm_90a" or "sm_100f", also without "sm_". Otherwise returns an
  // invalid_argument that names the known targets, for example for sm_101 (renamed sm_110 by CUDA
  // 13), sm_90f (families begin at 10.0) and sm_83.
  static Result<SmTarget> parse(std::string_view text);
  std::string to_string() const;     // "sm_100f"
  std::string compute_name() const;  // "compute_100f", NVRTC's name of a virtual target
  ComputeCapability capability() const { return {major, minor}; }

  friend auto operator<=>(const SmTarget&, const SmTarget&) = default;
};

// Returns every target that a CUDA release builds for, ascending (7.5 to 12.1, and 10.7 as
// announced).
std::span<const SmTarget> known_targets();

// Returns whether a cubin of `target` runs on a device. The rules are a table in sm_target.cpp,
// from Table 28 and section 5.1.2.3 of the CUDA Programming Guide. Tegra's capabilities (8.7, 8.8)
// require an exact match.
bool runs_on(SmTarget target, ComputeCapability device);

// Returns the rule that prevents a cubin of `target` from running on the device: "sm_103a code is
// specific to 10.3, and the device is 10.0". Returns an empty text if it runs.
std::string why_not_on(SmTarget target, ComputeCapability device);

// Returns the targets whose cubins run on the device, best first: specific, family (nearest minor
// first), baseline (nearest minor first). Does not depend on the order in which builds are found.
std::vector<SmTarget> targets_for(ComputeCapability device);

// Returns whether the driver may compile PTX of `target` for the device.
bool ptx_runs_on(SmTarget target, ComputeCapability device);
// Returns the rule that prevents it, in the form of why_not_on(): "compute_90 PTX needs 9.0 or
// later, and the device is 8.0".
std::string why_ptx_not_on(SmTarget target, ComputeCapability device);

// Returns the targets whose PTX the driver may compile for the device, best first: the device's own
// target, then its family, then the baselines, the latest first.
std::vector<SmTarget> ptx_targets_for(ComputeCapability device);

// Returns the most dynamic shared memory, in bytes, that one block may use on the device (the
// opt-in limit): CUDA Programming Guide, "Technical specifications per compute capability". Returns
// 0 for an unknown capability.
std::uint32_t maximum_shared_bytes_per_block(ComputeCapability device);

}  // namespace cubinet
