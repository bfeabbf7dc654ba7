// SPDX-License-Identifier: Apache-2.0
#include "bare_driver.hpp"

#include <cubinet/base/dynamic_library.hpp>

#include <array>

namespace cubinet::bench {

// cuda.h renames some functions by macros (cuMemAlloc is cuMemAlloc_v2): expanding the name first gives the
// symbol that the declared type belongs to.
#define CUBINET_BENCH_TEXT(name) #name
#define CUBINET_BENCH_LOAD(member, name)                                                          \
  api->member = reinterpret_cast<decltype(api->member)>(library->find(CUBINET_BENCH_TEXT(name))); \
  if (api->member == nullptr) return Error {                                                      \
      ErrorCode::unsupported, "the driver has no " CUBINET_BENCH_TEXT(name)                       \
    }

namespace {

Result<std::shared_ptr<const BareDriverApi>> load_api() {
  const Result<DynamicLibrary> library = DynamicLibrary::open("libcuda.so.1");
  if (!library) return library.error();
  const auto api = std::make_shared<BareDriverApi>();
  CUBINET_BENCH_LOAD(init, cuInit);
  CUBINET_BENCH_LOAD(driver_get_version, cuDriverGetVersion);
  CUBINET_BENCH_LOAD(device_get, cuDeviceGet);
  CUBINET_BENCH_LOAD(device_get_name, cuDeviceGetName);
  CUBINET_BENCH_LOAD(primary_ctx_retain, cuDevicePrimaryCtxRetain);
  CUBINET_BENCH_LOAD(ctx_set_current, cuCtxSetCurrent);
  CUBINET_BENCH_LOAD(ctx_synchronize, cuCtxSynchronize);
  CUBINET_BENCH_LOAD(library_load_data, cuLibraryLoadData);
  CUBINET_BENCH_LOAD(library_get_kernel, cuLibraryGetKernel);
  CUBINET_BENCH_LOAD(library_unload, cuLibraryUnload);
  CUBINET_BENCH_LOAD(kernel_get_function, cuKernelGetFunction);
  CUBINET_BENCH_LOAD(launch_kernel_ex, cuLaunchKernelEx);
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
  CUBINET_TRY(check(api.ctx_set_current(context), "cuCtxSetCurrent"));
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
