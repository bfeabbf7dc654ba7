// SPDX-License-Identifier: Apache-2.0
#include "loaded_image.hpp"

#include "deferred_calls.hpp"
#include "release.hpp"

#include <utility>

namespace cubinet {

Result<LoadedImage> LoadedImage::load(std::shared_ptr<const Device> device, ByteView image,
                                      const KernelSubject& subject) {
  const Driver& driver = *device->driver();
  const DriverApi& api = driver.api();
  LoadedImage loaded(std::move(device));
  if (driver.has_libraries()) {
    const CUresult result =
        api.cuLibraryLoadData(&loaded.library_, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
    if (result != CUDA_SUCCESS) {
      loaded.library_ = nullptr;
      return subject.error(result, "cuLibraryLoadData", "loading");
    }
  } else if (const CUresult result = api.cuModuleLoadData(&loaded.module_, image.data());
             result != CUDA_SUCCESS) {
    loaded.module_ = nullptr;
    return subject.error(result, "cuModuleLoadData", "loading");
  }
  return loaded;
}

LoadedImage::LoadedImage(LoadedImage&& other) noexcept
    : device_(std::move(other.device_)),
      library_(std::exchange(other.library_, nullptr)),
      module_(std::exchange(other.module_, nullptr)) {}

LoadedImage::~LoadedImage() {
  if (device_ == nullptr || !device_->driver()->in_opening_process()) return;
  if (library_ == nullptr && module_ == nullptr) return;
  const Driver& driver = *device_->driver();
  if (!DeferredCalls::in_callback()) {
    driver.deferred().run(driver.api());
    unload();
    return;
  }
  driver.deferred().add(
      [library = library_, module = module_, context = device_->context()](const DriverApi& api) {
        if (library != nullptr) return static_cast<void>(api.cuLibraryUnload(library));
        CUcontext popped = nullptr;
        if (api.cuCtxPushCurrent(context) != CUDA_SUCCESS) return;
        static_cast<void>(api.cuModuleUnload(module));
        static_cast<void>(api.cuCtxPopCurrent(&popped));
      });
}

void LoadedImage::unload() const {
  if (library_ == nullptr) {
    release(*device_, "cuModuleUnload", [&](const DriverApi& api) { return api.cuModuleUnload(module_); });
    return;
  }
  const Driver& driver = *device_->driver();
  driver.report(driver.api().cuLibraryUnload(library_), "cuLibraryUnload", "unloading a module");
}

Result<std::optional<unsigned>> LoadedImage::kernel_count(const KernelSubject& subject) const {
  const DriverApi& api = device_->driver()->api();
  if (library_ == nullptr || api.cuLibraryGetKernelCount == nullptr) return std::nullopt;
  unsigned count = 0;
  const CUresult result = api.cuLibraryGetKernelCount(&count, library_);
  if (result != CUDA_SUCCESS) return subject.error(result, "cuLibraryGetKernelCount", "loading");
  return count;
}

Result<CUfunction> LoadedImage::function(const KernelSubject& subject) const {
  const DriverApi& api = device_->driver()->api();
  const std::string& symbol = subject.entry_point->symbol;
  CUfunction function = nullptr;
  if (library_ != nullptr) {
    CUkernel kernel = nullptr;
    if (const CUresult result = api.cuLibraryGetKernel(&kernel, library_, symbol.c_str());
        result != CUDA_SUCCESS) {
      return subject.error(result, "cuLibraryGetKernel", "loading");
    }
    if (const CUresult result = api.cuKernelGetFunction(&function, kernel); result != CUDA_SUCCESS) {
      return subject.error(result, "cuKernelGetFunction", "loading");
    }
  } else if (const CUresult result = api.cuModuleGetFunction(&function, module_, symbol.c_str());
             result != CUDA_SUCCESS) {
    return subject.error(result, "cuModuleGetFunction", "loading");
  }
  return function;
}

Result<std::optional<LoadedImage::Place>> LoadedImage::global(const std::string& symbol,
                                                              const KernelSubject& subject) const {
  const DriverApi& api = device_->driver()->api();
  Place place;
  const CUresult result = library_ != nullptr
                              ? api.cuLibraryGetGlobal(&place.address, &place.size, library_, symbol.c_str())
                              : api.cuModuleGetGlobal(&place.address, &place.size, module_, symbol.c_str());
  if (result == CUDA_ERROR_NOT_FOUND) return std::optional<Place>();
  if (result != CUDA_SUCCESS)
    return subject.error(result, library_ != nullptr ? "cuLibraryGetGlobal" : "cuModuleGetGlobal",
                         "looking for the variable '" + symbol + "' of");
  return std::optional(place);
}

}  // namespace cubinet
