// SPDX-License-Identifier: Apache-2.0
// Compares the targets that run on the device with the driver itself. Needs a GPU.
#include "loader/driver_under_test.hpp"

#include <cubinet/base/dynamic_library.hpp>

#include <cuda.h>
#include <doctest/doctest.h>

using namespace cubinet;
using cubinet::test::DriverUnderTest;

namespace {

// The driver without this project's checks. It reports whether it loads the image and finds a
// kernel in it, because a foreign cubin may "load" as a library without kernels.
class RawDriver {
 public:
  RawDriver() : library_(DynamicLibrary::open("libcuda.so.1")) {
    if (!library_) return;
    find(load_, "cuLibraryLoadData");
    find(unload_, "cuLibraryUnload");
    find(kernel_, "cuLibraryGetKernel");
    find(function_, "cuKernelGetFunction");
  }
  bool complete() const {
    return load_ != nullptr && unload_ != nullptr && kernel_ != nullptr && function_ != nullptr;
  }

  bool runs(const Bytes& image, const char* kernel_name) const {
    CUlibrary library = nullptr;
    if (load_(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0) != CUDA_SUCCESS) return false;
    CUkernel kernel = nullptr;
    CUfunction function = nullptr;
    const bool found = kernel_(&kernel, library, kernel_name) == CUDA_SUCCESS &&
                       function_(&function, kernel) == CUDA_SUCCESS;
    unload_(library);
    return found;
  }

 private:
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(library_->find(name));
  }

  Result<DynamicLibrary> library_;
  decltype(&::cuLibraryLoadData) load_ = nullptr;
  decltype(&::cuLibraryUnload) unload_ = nullptr;
  decltype(&::cuLibraryGetKernel) kernel_ = nullptr;
  decltype(&::cuKernelGetFunction) function_ = nullptr;
};

}  // namespace

TEST_CASE("a target runs on the device by the table exactly when the driver finds its kernels") {
  const DriverUnderTest test;
  if (!test.ready) return;
  auto current = test.device->make_current();
  REQUIRE(current);
  const RawDriver driver;
  REQUIRE(driver.complete());
  const ComputeCapability capability = test.device->properties().capability;
  int running = 0;
  int refused = 0;
  for (const SmTarget target : known_targets()) {
    // The kernels need 8.0. 10.7 is announced, but no NVRTC supports it yet.
    if (target.major < 8 || target.capability() == ComputeCapability{10, 7}) continue;
    const Cubin cubin = cubinet::test::test_cubin(target);
    const bool by_table = runs_on(target, capability);
    CAPTURE(target.to_string());
    CHECK(driver.runs(*cubin.image, "vector_add") == by_table);
    ++(by_table ? running : refused);
  }
  CHECK(running >= 1);
  CHECK(refused >= 10);
}
