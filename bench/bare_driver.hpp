// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/spec/cubin.hpp>

#include <cuda.h>
#include <cudaTypedefs.h>

#include <memory>
#include <string>

namespace cubinet::bench {

struct BareDriverApi;

// The bare driver, the baseline of cubinet's loading and launching. Uses the device's primary
// context, current for the thread that opened it.
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

// The driver's functions, each in the version of the given CUDA release.
struct BareDriverApi {
  PFN_cuInit_v2000 init;
  PFN_cuDriverGetVersion_v2020 driver_get_version;
  PFN_cuDeviceGet_v2000 device_get;
  PFN_cuDeviceGetName_v2000 device_get_name;
  PFN_cuDevicePrimaryCtxRetain_v7000 primary_ctx_retain;
  PFN_cuCtxPushCurrent_v4000 ctx_push_current;
  PFN_cuMemGetInfo_v3020 mem_get_info = nullptr;  // nullptr: not there
  PFN_cuStreamSynchronize_v2000 stream_synchronize;
  PFN_cuLibraryLoadData_v12000 library_load_data;
  PFN_cuLibraryGetKernel_v12000 library_get_kernel;
  PFN_cuLibraryUnload_v12000 library_unload;
  PFN_cuKernelGetFunction_v12000 kernel_get_function;
  PFN_cuLaunchKernelEx_v11060 launch_kernel_ex;
};

// Returns an error (driver) with the function's name unless `result` is CUDA_SUCCESS.
Result<void> check(CUresult result, const char* function);

// A cubin loaded by the driver alone: cuLibraryLoadData, then cuLibraryGetKernel and
// cuKernelGetFunction for each entry point. `function` is the first one's.
struct BareKernel {
  CUlibrary library = nullptr;
  CUfunction function = nullptr;
};
Result<BareKernel> load_bare(const BareDriverApi& api, const Cubin& cubin);

}  // namespace cubinet::bench
