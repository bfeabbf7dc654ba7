// SPDX-License-Identifier: Apache-2.0
#include "deferred_calls.hpp"
#include "driver_api.hpp"

#include <cubinet/loader/driver.hpp>

namespace cubinet {

Result<std::shared_ptr<const Device>> Device::open(std::shared_ptr<const Driver> driver, int ordinal) {
  if (driver == nullptr) {
    return Error{ErrorCode::invalid_argument, "a device cannot be opened without a driver"};
  }
  CUBINET_TRY(driver->check_process());
  const std::size_t count = driver->devices().size();
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= count) {
    return Error{ErrorCode::invalid_argument, "there is no device " + std::to_string(ordinal),
                 count == 1 ? "the only device is 0" : "devices are 0 to " + std::to_string(count - 1)};
  }
  const std::string what = "opening " + driver->devices()[static_cast<std::size_t>(ordinal)].to_string();
  CUdevice handle = 0;
  if (const CUresult result = driver->api().cuDeviceGet(&handle, ordinal); result != CUDA_SUCCESS) {
    return driver->error(result, "cuDeviceGet", what);
  }
  CUcontext context = nullptr;
  const CUresult result = driver->api().cuDevicePrimaryCtxRetain(&context, handle);
  if (result != CUDA_SUCCESS) return driver->error(result, "cuDevicePrimaryCtxRetain", what);
  return std::shared_ptr<const Device>(new Device(std::move(driver), ordinal, handle, context));
}

Device::~Device() {
  if (!driver_->in_opening_process()) return;
  if (DeferredCalls::in_callback()) {
    driver_->deferred().add([handle = handle_](const DriverApi& api) {
      static_cast<void>(api.cuDevicePrimaryCtxRelease(handle));
    });
    return;
  }
  driver_->deferred().run(driver_->api());
  driver_->report(driver_->api().cuDevicePrimaryCtxRelease(handle_), "cuDevicePrimaryCtxRelease",
                  "closing " + properties().to_string());
}

bool Device::is_current() const {
  CUcontext current = nullptr;
  return driver_->in_opening_process() && driver_->api().cuCtxGetCurrent(&current) == CUDA_SUCCESS &&
         current == context_;
}

Result<Device::ContextGuard> Device::make_current() const {
  CUBINET_TRY(driver_->check_process());
  const DriverApi& api = driver_->api();
  // The common case for launches: it saves two driver calls.
  CUcontext current = nullptr;
  if (const CUresult result = api.cuCtxGetCurrent(&current); result != CUDA_SUCCESS) {
    return driver_->error(result, "cuCtxGetCurrent", "making " + properties().to_string() + " current");
  }
  if (current == context_) return ContextGuard(nullptr);
  if (const CUresult result = api.cuCtxPushCurrent(context_); result != CUDA_SUCCESS) {
    return driver_->error(result, "cuCtxPushCurrent", "making " + properties().to_string() + " current");
  }
  return ContextGuard(driver_.get());
}

Device::ContextGuard::~ContextGuard() {
  if (driver_ == nullptr || !driver_->in_opening_process()) return;
  CUcontext popped = nullptr;
  driver_->report(driver_->api().cuCtxPopCurrent(&popped), "cuCtxPopCurrent",
                  "restoring the thread's context");
}

}  // namespace cubinet
