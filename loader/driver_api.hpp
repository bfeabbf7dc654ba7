// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/dynamic_library.hpp>
#include <cubinet/base/result.hpp>

#include <cuda.h>
#include <cudaTypedefs.h>

#include <array>
#include <cstddef>
#include <string>

// Every driver function that is called, with the CUDA version whose signature is used.
// cuGetProcAddress is called with exactly that version, so this table, and not a _v2 suffix of a
// symbol, selects the signature. The version is also the first driver that has the function.
// Functions up to kMinimumDriverVersion must exist. If a later one is missing, its caller uses an
// alternative or returns an error that names it.
#define CUBINET_DRIVER_FUNCTIONS(X)                    \
  X(cuInit, 2000)                                      \
  X(cuDriverGetVersion, 2020)                          \
  X(cuGetErrorName, 6000)                              \
  X(cuGetErrorString, 6000)                            \
  X(cuDeviceGetCount, 2000)                            \
  X(cuDeviceGet, 2000)                                 \
  X(cuDeviceGetName, 2000)                             \
  X(cuDeviceGetAttribute, 2000)                        \
  X(cuDeviceTotalMem, 3020)                            \
  X(cuDeviceGetUuid, 11040)                            \
  X(cuDevicePrimaryCtxRetain, 7000)                    \
  X(cuDevicePrimaryCtxRelease, 11000)                  \
  X(cuCtxPushCurrent, 4000)                            \
  X(cuCtxPopCurrent, 4000)                             \
  X(cuCtxGetCurrent, 4000)                             \
  X(cuCtxSynchronize, 2000)                            \
  X(cuLibraryLoadData, 12000)                          \
  X(cuLibraryUnload, 12000)                            \
  X(cuLibraryGetKernel, 12000)                         \
  X(cuLibraryGetKernelCount, 12040)                    \
  X(cuKernelGetFunction, 12000)                        \
  X(cuLibraryGetGlobal, 12000)                         \
  X(cuModuleLoadData, 2000)                            \
  X(cuModuleUnload, 2000)                              \
  X(cuModuleGetFunction, 2000)                         \
  X(cuModuleGetGlobal, 3020)                           \
  X(cuFuncGetAttribute, 2020)                          \
  X(cuFuncSetAttribute, 9000)                          \
  X(cuFuncGetParamInfo, 12040)                         \
  X(cuLaunchKernel, 4000)                              \
  X(cuLaunchKernelEx, 11060)                           \
  X(cuLaunchCooperativeKernel, 9000)                   \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050) \
  X(cuOccupancyMaxActiveClusters, 11070)               \
  X(cuTensorMapEncodeTiled, 12000)                     \
  X(cuPointerGetAttribute, 4000)                       \
  X(cuMemAlloc, 3020)                                  \
  X(cuMemFree, 3020)                                   \
  X(cuMemcpyHtoD, 3020)                                \
  X(cuMemcpyDtoH, 3020)                                \
  X(cuMemcpyHtoDAsync, 3020)                           \
  X(cuMemcpyDtoHAsync, 3020)                           \
  X(cuMemsetD8, 3020)                                  \
  X(cuStreamCreate, 2000)                              \
  X(cuStreamDestroy, 4000)                             \
  X(cuStreamSynchronize, 2000)                         \
  X(cuStreamQuery, 2000)                               \
  X(cuStreamBeginCapture, 10010)                       \
  X(cuStreamEndCapture, 10000)                         \
  X(cuStreamIsCapturing, 10000)                        \
  X(cuStreamGetCaptureInfo, 11030)                     \
  X(cuGraphInstantiateWithFlags, 11040)                \
  X(cuGraphLaunch, 10000)                              \
  X(cuGraphDestroy, 10000)                             \
  X(cuGraphRetainUserObject, 11030)                    \
  X(cuUserObjectCreate, 11030)                         \
  X(cuUserObjectRelease, 11030)                        \
  X(cuGraphExecDestroy, 10000)                         \
  X(cuEventCreate, 2000)                               \
  X(cuEventRecord, 2000)                               \
  X(cuEventSynchronize, 2000)                          \
  X(cuEventElapsedTime, 2000)                          \
  X(cuEventDestroy, 4000)

namespace cubinet {

// CUDA 11.4 (driver 470), the oldest branch that has every function without an alternative.
inline constexpr int kMinimumDriverVersion = 11040;

// The table of driver functions. A member is nullptr only if the driver is older than the function.
// Each macro below pastes or stringises its own parameter, because passing it through another macro
// would let cuda.h's macros rewrite it (cuMemFree -> cuMemFree_v2).
struct DriverApi {
#define CUBINET_DRIVER_MEMBER(name, version) PFN_##name##_v##version name = nullptr;
  CUBINET_DRIVER_FUNCTIONS(CUBINET_DRIVER_MEMBER)
#undef CUBINET_DRIVER_MEMBER

  // Looks up every function in the library. Returns unsupported if the driver is older than
  // kMinimumDriverVersion or lacks a required function. Sets `driver_version`.
  static Result<DriverApi> resolve(const DynamicLibrary& library, int& driver_version);
};

struct DriverFunctionName {
  const char* name;
  int version;
};

#define CUBINET_DRIVER_NAME(name, version) DriverFunctionName{#name, version},
inline constexpr std::array kDriverFunctions = {CUBINET_DRIVER_FUNCTIONS(CUBINET_DRIVER_NAME)};
#undef CUBINET_DRIVER_NAME

// Returns "12.4" for 12040.
std::string cuda_version_text(int version);

}  // namespace cubinet
