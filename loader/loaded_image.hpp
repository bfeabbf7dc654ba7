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

// Machine code that the driver has loaded: a CUlibrary, or a CUmodule if the driver is older than
// CUDA 12.0. Unloads it on destruction, except in a forked child.
class LoadedImage {
 public:
  // REQUIRES: the device's context is current (a module belongs to it; so do a library's
  // functions).
  static Result<LoadedImage> load(std::shared_ptr<const Device> device, ByteView image,
                                  const KernelSubject& subject);

  LoadedImage(LoadedImage&& other) noexcept;
  LoadedImage& operator=(LoadedImage&&) = delete;
  ~LoadedImage();

  // Returns nullopt if the driver cannot report it (before CUDA 12.4).
  Result<std::optional<unsigned>> kernel_count(const KernelSubject& subject) const;
  // REQUIRES: the device's context is current, and the subject names an entry point.
  Result<CUfunction> function(const KernelSubject& subject) const;
  // Returns the address and size in bytes of a variable, or nullopt if the image has no variable of
  // this symbol. REQUIRES: the device's context is current.
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
