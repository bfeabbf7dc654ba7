// SPDX-License-Identifier: Apache-2.0
#include "bare_driver.hpp"

#include <cubinet/base/dynamic_library.hpp>

#include <array>

namespace cubinet::bench {

namespace {

template <class FunctionPointer>
Result<void> load(PFN_cuGetProcAddress_v12000 get, const char* name, int version, FunctionPointer& function) {
  void* address = nullptr;
  if (get(name, &address, version, CU_GET_PROC_ADDRESS_DEFAULT, nullptr) != CUDA_SUCCESS ||
      address == nullptr) {
    return Error{ErrorCode::unsupported, std::string("the driver has no ") + name};
  }
  function = reinterpret_cast<FunctionPointer>(address);
  return {};
}

Result<std::shared_ptr<const BareDriverApi>> load_api() {
  const Result<DynamicLibrary> library = DynamicLibrary::open("libcuda.so.1");
  if (!library) return library.error();
  const auto get = reinterpret_cast<PFN_cuGetProcAddress_v12000>(library->find("cuGetProcAddress_v2"));
  if (get == nullptr) return Error{ErrorCode::unsupported, "the driver is older than CUDA 12.0"};
  const auto api = std::make_shared<BareDriverApi>();
  CUBINET_TRY(load(get, "cuInit", 2000, api->init));
  CUBINET_TRY(load(get, "cuDriverGetVersion", 2020, api->driver_get_version));
  CUBINET_TRY(load(get, "cuDeviceGet", 2000, api->device_get));
  CUBINET_TRY(load(get, "cuDeviceGetName", 2000, api->device_get_name));
  CUBINET_TRY(load(get, "cuDevicePrimaryCtxRetain", 7000, api->primary_ctx_retain));
  CUBINET_TRY(load(get, "cuCtxPushCurrent", 4000, api->ctx_push_current));
  // The tests' stand-in has no memory to report.
  static_cast<void>(load(get, "cuMemGetInfo", 3020, api->mem_get_info));
  CUBINET_TRY(load(get, "cuStreamSynchronize", 2000, api->stream_synchronize));
  CUBINET_TRY(load(get, "cuLibraryLoadData", 12000, api->library_load_data));
  CUBINET_TRY(load(get, "cuLibraryGetKernel", 12000, api->library_get_kernel));
  CUBINET_TRY(load(get, "cuLibraryUnload", 12000, api->library_unload));
  CUBINET_TRY(load(get, "cuKernelGetFunction", 12000, api->kernel_get_function));
  CUBINET_TRY(load(get, "cuLaunchKernelEx", 11060, api->launch_kernel_ex));
  return std::shared_ptr<const BareDriverApi>(api);
}

}  // namespace

Result<void> check(CUresult result, const char* function) {
  if (result == CUDA_SUCCESS) return {};
  return Error{ErrorCode::driver, std::string(function) + " gave " + std::to_string(result), {}, {}, result};
}

Result<BareDriver> BareDriver::open(int device) {
  BareDriver driver;
  CUBINET_TRY_ASSIGN(driver.api_, load_api());
  const BareDriverApi& api = *driver.api_;
  CUBINET_TRY(check(api.init(0), "cuInit"));
  CUBINET_TRY(check(api.driver_get_version(&driver.version_), "cuDriverGetVersion"));
  CUdevice handle = 0;
  CUBINET_TRY(check(api.device_get(&handle, device), "cuDeviceGet"));
  std::array<char, 128> name{};
  CUBINET_TRY(
      check(api.device_get_name(name.data(), static_cast<int>(name.size()), handle), "cuDeviceGetName"));
  driver.device_name_ = name.data();
  CUcontext context = nullptr;
  CUBINET_TRY(check(api.primary_ctx_retain(&context, handle), "cuDevicePrimaryCtxRetain"));
  CUBINET_TRY(check(api.ctx_push_current(context), "cuCtxPushCurrent"));
  return driver;
}

Result<BareKernel> load_bare(const BareDriverApi& api, const Cubin& cubin) {
  BareKernel loaded;
  CUBINET_TRY(check(
      api.library_load_data(&loaded.library, cubin.image->data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
      "cuLibraryLoadData"));
  for (const EntryPoint& entry : cubin.record->entry_points) {
    CUkernel kernel = nullptr;
    CUfunction function = nullptr;
    CUBINET_TRY(
        check(api.library_get_kernel(&kernel, loaded.library, entry.symbol.c_str()), "cuLibraryGetKernel"));
    CUBINET_TRY(check(api.kernel_get_function(&function, kernel), "cuKernelGetFunction"));
    if (loaded.function == nullptr) loaded.function = function;
  }
  return loaded;
}

}  // namespace cubinet::bench
