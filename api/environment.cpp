// SPDX-License-Identifier: Apache-2.0
#include "environment.hpp"

namespace cubinet {

Result<std::shared_ptr<Compiler>> Environment::compiler() {
  const std::lock_guard lock(compiler_mutex_);
  if (!compiler_) compiler_ = Compiler::open(search_);
  return *compiler_;
}

Result<std::shared_ptr<const Device>> Environment::device(int ordinal) {
  const std::lock_guard lock(device_mutex_);
  if (const auto position = devices_.find(ordinal); position != devices_.end()) return position->second;
  if (driver_ == nullptr) {
    CUBINET_TRY_ASSIGN(driver_, Driver::open(driver_library_, log_));
  }
  CUBINET_TRY_ASSIGN(auto device, Device::open(driver_, ordinal));
  devices_.emplace(ordinal, device);
  return device;
}

std::vector<std::shared_ptr<const Device>> Environment::open_devices() const {
  std::vector<std::shared_ptr<const Device>> devices;
  const std::lock_guard lock(device_mutex_);
  for (const auto& [ordinal, device] : devices_)
    devices.push_back(device);
  return devices;
}

}  // namespace cubinet
