// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver_api.hpp"

#include <cubinet/loader/driver.hpp>

#include <string>

namespace cubinet {

// Releases a driver object with the device's context current. Used in destructors. Calls nothing in
// a forked child. Logs failures.
template <class Call>
void release(const Device& device, const char* function, Call&& call) {
  const Driver& driver = *device.driver();
  if (!driver.in_opening_process()) return;
  const std::string_view doing = "giving back what a destroyed object held";
  CUcontext popped = nullptr;
  const CUresult pushed = driver.api().cuCtxPushCurrent(device.context());
  driver.report(pushed, "cuCtxPushCurrent", doing);
  if (pushed != CUDA_SUCCESS) return;
  driver.report(call(driver.api()), function, doing);
  driver.report(driver.api().cuCtxPopCurrent(&popped), "cuCtxPopCurrent", doing);
}

}  // namespace cubinet
