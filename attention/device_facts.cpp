// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/device_facts.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/loader/driver.hpp>

#include <fmt/format.h>

namespace cubinet {
namespace {

constexpr std::uint32_t kMaximumSmCount = 65'535;

// The SM count of the full data centre part. Other capabilities exist with several counts.
struct UsualDevice {
  ComputeCapability capability;
  std::uint32_t sm_count;
  const char* name;
};
constexpr UsualDevice kUsualDevices[] = {
    {{8, 0}, 108, "A100"}, {{9, 0}, 132, "H100 and H200, SXM"}, {{10, 0}, 148, "B200"}};

}  // namespace

DeviceFacts DeviceFacts::of(const DeviceProperties& device) {
  return {device.capability, device.multiprocessors, device.maximum_shared_bytes_per_block};
}

Result<DeviceFacts> DeviceFacts::named(std::string_view name, std::uint32_t sm_count) {
  DeviceFacts facts;
  CUBINET_TRY_ASSIGN(facts.capability, ComputeCapability::parse_known(name));
  facts.sm_count = sm_count;
  for (const UsualDevice& usual : kUsualDevices)
    if (facts.sm_count == 0 && usual.capability == facts.capability) facts.sm_count = usual.sm_count;
  if (facts.sm_count == 0)
    return Error{ErrorCode::invalid_argument,
                 fmt::format("the multiprocessor count of a device of capability {} is not known",
                             facts.capability.to_string()),
                 "set `DeviceFacts::sm_count`"};
  CUBINET_TRY(check_device(facts));
  return facts;
}

std::string usual_devices() {
  std::vector<std::string> names;
  for (const UsualDevice& device : kUsualDevices)
    names.push_back(fmt::format("{} ({})", device.capability.to_string(), device.name));
  return join(names);
}

Result<void> check_device(const DeviceFacts& device) {
  if (device.sm_count != 0 && device.sm_count <= kMaximumSmCount) return {};
  return Error{ErrorCode::invalid_argument,
               fmt::format("`DeviceFacts::sm_count` is {}: it must be the device's number of multiprocessors",
                           device.sm_count)};
}

}  // namespace cubinet
