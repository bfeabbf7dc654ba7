// SPDX-License-Identifier: Apache-2.0
// Libraries, modules, functions.
#include "stub_state.hpp"

#include <algorithm>

namespace cubinet::stub {
namespace {

constexpr std::uint32_t kSharedBytesWithoutOptIn = 48 * 1024;

bool runs_on(const CubinImage& cubin, const Device& device) {
  return cubin.runs_on(device.major, device.minor);
}

std::optional<CubinImage> read_image(const void* image) {
  auto cubin = read_cubin(image);
  return cubin ? cubin : read_ptx(image);
}

// Fills a library. An image that does not run on any device is loaded as a library without kernels
// (seen on driver 580).
void fill(CUlib_st& library, CubinImage cubin) {
  library.cubin = std::move(cubin);
  const auto& devices = state().devices;
  library.visible = std::any_of(devices.begin(), devices.end(),
                                [&](const Device& device) { return runs_on(library.cubin, device); });
  if (!library.visible) return;
  for (const KernelImage& kernel : library.cubin.kernels) {
    library.kernels[kernel.name] = CUkern_st{&kernel, &library.cubin};
  }
}

CUfunction function_of(CUlib_st& library, const KernelImage& kernel, CUcontext context) {
  for (CUfunc_st& function : library.functions) {
    if (function.image == &kernel && function.context == context && !function.destroyed) return &function;
  }
  CUfunc_st& added = library.functions.emplace_back();
  added.image = &kernel;
  added.context = context;
  added.loaded = library.loaded;
  added.dynamic_shared_limit =
      kSharedBytesWithoutOptIn - std::min(kSharedBytesWithoutOptIn, kernel.static_shared_bytes);
  return &added;
}

// Finds a variable. It has an address in each context. A variable in managed memory has one address
// for all contexts.
CUresult find_global(CUlib_st& library, CUcontext context, const char* name, CUdeviceptr* address,
                     std::size_t* size) {
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const auto& globals = library.cubin.globals;
  const auto found = std::find_if(globals.begin(), globals.end(), [&](const GlobalImage& global) {
    return library.visible && global.name == name;
  });
  if (found == globals.end()) return CUDA_ERROR_NOT_FOUND;
  CUdeviceptr& place = library.globals[{&*found, found->managed ? nullptr : context}];
  if (place == 0) place = place_global(found->content, context->device);
  *address = place;
  *size = found->content.size();
  return CUDA_SUCCESS;
}

void free_globals(const CUlib_st& library) {
  for (const auto& global : library.globals)
    state().memory.erase(global.second);
}

}  // namespace

CUresult stub_cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned,
                                CUlibraryOption*, void**, unsigned) {
  auto cubin = read_image(code);
  if (!cubin) return CUDA_ERROR_INVALID_IMAGE;
  State& now = state();
  const std::lock_guard lock(now.mutex);
  *library = now.libraries.add();
  fill(**library, *std::move(cubin));
  return CUDA_SUCCESS;
}

CUresult stub_cuLibraryUnload(CUlibrary library) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (!now.libraries.contains(library)) return CUDA_ERROR_INVALID_HANDLE;
  free_globals(*library);
  now.libraries.remove(library);
  return CUDA_SUCCESS;
}

CUresult stub_cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (!now.libraries.contains(library)) return CUDA_ERROR_INVALID_HANDLE;
  const auto found = library->kernels.find(name);
  if (found == library->kernels.end()) return CUDA_ERROR_NOT_FOUND;
  *kernel = &found->second;
  return CUDA_SUCCESS;
}

CUresult stub_cuLibraryGetKernelCount(unsigned* count, CUlibrary library) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (!now.libraries.contains(library)) return CUDA_ERROR_INVALID_HANDLE;
  *count = static_cast<unsigned>(library->kernels.size());
  return CUDA_SUCCESS;
}

CUresult stub_cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  const CUcontext context = current_context();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (!runs_on(*kernel->cubin, *device_of(context->device))) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  CUlib_st* library = now.libraries.find([&](const CUlib_st& one) { return &one.cubin == kernel->cubin; });
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *function = function_of(*library, *kernel->image, context);
  return CUDA_SUCCESS;
}

CUresult stub_cuModuleLoadData(CUmodule* module, const void* image) {
  auto cubin = read_image(image);
  if (!cubin) return CUDA_ERROR_INVALID_IMAGE;
  State& now = state();
  const std::lock_guard lock(now.mutex);
  const CUcontext context = current_context();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (!runs_on(*cubin, *device_of(context->device))) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  *module = now.modules.add();
  (*module)->context = context;
  fill((*module)->library, *std::move(cubin));
  return CUDA_SUCCESS;
}

CUresult stub_cuModuleUnload(CUmodule module) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (!now.modules.contains(module)) return CUDA_ERROR_INVALID_HANDLE;
  if (module->context != current_context()) return CUDA_ERROR_INVALID_CONTEXT;
  free_globals(module->library);
  now.modules.remove(module);
  return CUDA_SUCCESS;
}

CUresult stub_cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (!now.modules.contains(module)) return CUDA_ERROR_INVALID_HANDLE;
  const auto kernel = module->library.kernels.find(name);
  if (kernel == module->library.kernels.end()) return CUDA_ERROR_NOT_FOUND;
  *function = function_of(module->library, *kernel->second.image, module->context);
  return CUDA_SUCCESS;
}

CUresult stub_cuLibraryGetGlobal(CUdeviceptr* address, std::size_t* size, CUlibrary library,
                                 const char* name) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (!now.libraries.contains(library)) return CUDA_ERROR_INVALID_HANDLE;
  return find_global(*library, current_context(), name, address, size);
}

CUresult stub_cuModuleGetGlobal(CUdeviceptr* address, std::size_t* size, CUmodule module, const char* name) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (!now.modules.contains(module)) return CUDA_ERROR_INVALID_HANDLE;
  return find_global(module->library, module->context, name, address, size);
}

CUresult stub_cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  const std::lock_guard lock(state().mutex);
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = static_cast<int>(function->image->static_shared_bytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = static_cast<int>(function->image->maximum_threads);
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult stub_cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  const std::lock_guard lock(state().mutex);
  const Device& device = *device_of(function->context->device);
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
      const std::uint32_t limit =
          shared_limit(device.major, device.minor) - function->image->static_shared_bytes;
      if (value < 0 || static_cast<std::uint32_t>(value) > limit) return CUDA_ERROR_INVALID_VALUE;
      function->dynamic_shared_limit = static_cast<std::uint32_t>(value);
      return CUDA_SUCCESS;
    }
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      if (device.major < 9) return CUDA_ERROR_INVALID_VALUE;
      function->non_portable_cluster = value != 0;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult stub_cuFuncGetParamInfo(CUfunction function, std::size_t index, std::size_t* offset,
                                 std::size_t* size) {
  const std::lock_guard lock(state().mutex);
  const auto& parameters = function->image->parameters;
  if (index >= parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = parameters[index].offset;
  if (size != nullptr) *size = parameters[index].size;
  return CUDA_SUCCESS;
}

}  // namespace cubinet::stub
