// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver_api.hpp"
#include "kernel_subject.hpp"

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/loader/driver.hpp>

#include <memory>
#include <optional>

namespace cubinet {

// Machine code that the driver has loaded: a CUlibrary, or a CUmodule where the driver is older than
// CUDA 12.0. Unloads on destruction, except in a forked child.
class LoadedImage {
 public:
  // REQUIRES: the device's context is current (a module belongs to it; a library's functions do).
  static Result<LoadedImage> load(std::shared_ptr<const Device> device, ByteView image,
                                  const KernelSubject& subject);

  LoadedImage(LoadedImage&& other) noexcept;
  LoadedImage& operator=(LoadedImage&&) = delete;
  ~LoadedImage();

  // nullopt where the driver cannot say (before CUDA 12.4).
  Result<std::optional<unsigned>> kernel_count(const KernelSubject& subject) const;
  // REQUIRES: the device's context is current; the subject names an entry point.
  Result<CUfunction> function(const KernelSubject& subject) const;
  // Where a variable lies, and its bytes; nullopt where the image has none of this symbol. REQUIRES: the
  // device's context is current.
  struct Place {
    CUdeviceptr address = 0;
    std::size_t size = 0;
  };
  Result<std::optional<Place>> global(const std::string& symbol, const KernelSubject& subject) const;

 private:
  explicit LoadedImage(std::shared_ptr<const Device> device) : device_(std::move(device)) {}
  void unload() const;

  std::shared_ptr<const Device> device_;
  CUlibrary library_ = nullptr;
  CUmodule module_ = nullptr;
};

}  // namespace cubinet
