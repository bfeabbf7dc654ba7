// SPDX-License-Identifier: Apache-2.0
// Start, errors, devices, contexts.
#include "stub_state.hpp"

#include <cstring>
#include <unistd.h>

namespace cubinet::stub {
namespace {

struct ErrorText {
  CUresult result;
  const char* name;
  const char* text;
};

constexpr ErrorText kErrors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
     "too many blocks in cooperative launch"},
    {CUDA_ERROR_INVALID_CLUSTER_SIZE, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "misconfigured cluster size"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const ErrorText* find_error(CUresult result) {
  for (const ErrorText& error : kErrors) {
    if (error.result == result) return &error;
  }
  return nullptr;
}

}  // namespace

CUresult stub_cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (now.devices.empty()) return CUDA_ERROR_NO_DEVICE;
  // A child of a process that has initialised the driver is rejected, as by the real driver.
  pid_t nobody = 0;
  const pid_t self = ::getpid();
  if (!now.process.compare_exchange_strong(nobody, self) && nobody != self) return CUDA_ERROR_NOT_INITIALIZED;
  return CUDA_SUCCESS;
}

CUresult stub_cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = state().version;
  return CUDA_SUCCESS;
}

CUresult stub_cuGetErrorName(CUresult result, const char** name) {
  const ErrorText* error = find_error(result);
  *name = error == nullptr ? nullptr : error->name;
  return error == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult stub_cuGetErrorString(CUresult result, const char** text) {
  const ErrorText* error = find_error(result);
  *text = error == nullptr ? nullptr : error->text;
  return error == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult stub_cuDeviceGetCount(int* count) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  *count = static_cast<int>(now.devices.size());
  return CUDA_SUCCESS;
}

CUresult stub_cuDeviceGet(CUdevice* device, int ordinal) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (device_of(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult stub_cuDeviceGetName(char* name, int length, CUdevice device) {
  const std::string text = "Stub GPU " + std::to_string(device);
  if (length <= 0) return CUDA_ERROR_INVALID_VALUE;
  std::strncpy(name, text.c_str(), static_cast<std::size_t>(length) - 1);
  name[length - 1] = '\0';
  return CUDA_SUCCESS;
}

CUresult stub_cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice ordinal) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  const Device* device = device_of(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = device->major;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = device->minor;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 132;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *value = static_cast<int>(shared_limit(device->major, device->minor));
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
      *value = 1;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
      if (now.version < 11080) return CUDA_ERROR_INVALID_VALUE;
      *value = device->major >= 9 ? 1 : 0;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult stub_cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
  *bytes = std::size_t{139} << 30U;
  return CUDA_SUCCESS;
}

CUresult stub_cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  for (std::size_t i = 0; i < sizeof(uuid->bytes); ++i)
    uuid->bytes[i] = static_cast<char>(0xa0 + i);
  uuid->bytes[15] = static_cast<char>(device);
  return CUDA_SUCCESS;
}

CUresult stub_cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice ordinal) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  Device* device = device_of(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (device->context == nullptr) {
    device->context = std::make_unique<CUctx_st>();
    device->context->device = ordinal;
  }
  ++device->context->retains;
  *context = device->context.get();
  return CUDA_SUCCESS;
}

// The structure is kept after the last release, so that a stale handle is recognised and does not
// lead into freed memory.
CUresult stub_cuDevicePrimaryCtxRelease(CUdevice ordinal) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  Device* device = device_of(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (device->context == nullptr || device->context->retains == 0) return CUDA_ERROR_INVALID_CONTEXT;
  --device->context->retains;
  return CUDA_SUCCESS;
}

CUresult stub_cuCtxPushCurrent(CUcontext context) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (context == nullptr || context->retains == 0) return CUDA_ERROR_INVALID_CONTEXT;
  context_stack().push_back(context);
  return CUDA_SUCCESS;
}

CUresult stub_cuCtxPopCurrent(CUcontext* context) {
  if (context_stack().empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (context != nullptr) *context = context_stack().back();
  context_stack().pop_back();
  return CUDA_SUCCESS;
}

CUresult stub_cuCtxGetCurrent(CUcontext* context) {
  const std::lock_guard lock(state().mutex);
  *context = current_context();
  return CUDA_SUCCESS;
}

// Kernels do not run, so there is nothing to wait for.
CUresult stub_cuCtxSynchronize() {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  const CUcontext context = current_context();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const bool capturing = now.streams.find([&](const CUstream_st& stream) {
    return stream.context == context && stream.capturing != nullptr;
  }) != nullptr;
  return capturing ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

}  // namespace cubinet::stub
