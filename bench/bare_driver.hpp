// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/spec/cubin.hpp>

#include <cuda.h>

#include <memory>
#include <string>

namespace cubinet::bench {

struct BareDriverApi;

// The driver with nothing around it: what cubinet's loading and launching are compared with. Uses the
// device's primary context, current for the thread that opened it.
class BareDriver {
 public:
  static Result<BareDriver> open(int device);

  const BareDriverApi& api() const { return *api_; }
  const std::string& device_name() const { return device_name_; }
  int version() const { return version_; }

 private:
  BareDriver() = default;
  std::shared_ptr<const BareDriverApi> api_;
  std::string device_name_;
  int version_ = 0;
};

struct BareDriverApi {
  decltype(&::cuInit) init;
  decltype(&::cuDriverGetVersion) driver_get_version;
  decltype(&::cuDeviceGet) device_get;
  decltype(&::cuDeviceGetName) device_get_name;
  decltype(&::cuDevicePrimaryCtxRetain) primary_ctx_retain;
  decltype(&::cuCtxSetCurrent) ctx_set_current;
  decltype(&::cuCtxSynchronize) ctx_synchronize;
  decltype(&::cuLibraryLoadData) library_load_data;
  decltype(&::cuLibraryGetKernel) library_get_kernel;
  decltype(&::cuLibraryUnload) library_unload;
  decltype(&::cuKernelGetFunction) kernel_get_function;
  decltype(&::cuLaunchKernelEx) launch_kernel_ex;
};

// driver, with the function's name, unless `result` is CUDA_SUCCESS.
Result<void> check(CUresult result, const char* function);

// A cubin loaded by the driver alone. cuLibraryLoadData, then cuLibraryGetKernel and cuKernelGetFunction for
// each entry point; `function` is the first one's.
struct BareKernel {
  CUlibrary library = nullptr;
  CUfunction function = nullptr;
};
Result<BareKernel> load_bare(const BareDriverApi& api, const Cubin& cubin);

}  // namespace cubinet::bench
