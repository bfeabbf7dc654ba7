// SPDX-License-Identifier: Apache-2.0
#pragma once
// A runtime that keeps everything in memory, its first device and a stream, for tests of what a
// kernel computes.
#include "support/ok.hpp"
#include "support/skip.hpp"

#include <cubinet/base/bytes.hpp>
#include <cubinet/loader/memory.hpp>
#include <cubinet/loader/stream.hpp>
#include <cubinet/runtime.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

namespace cubinet::test {

class TemplateGpu {
 public:
  // nullptr, and the test is skipped, where there is no GPU.
  static std::unique_ptr<TemplateGpu> open() {
    auto runtime = ok(Runtime::create({}));
    auto device = runtime->device(0);
    if (!device) {
      skip(device.error().to_line());
      return nullptr;
    }
    return std::make_unique<TemplateGpu>(std::move(runtime), *device, ok(Stream::create(*device)));
  }
  TemplateGpu(std::shared_ptr<Runtime> runtime, std::shared_ptr<const Device> device, Stream stream)
      : runtime_(std::move(runtime)), device_(std::move(device)), stream_(std::move(stream)) {}

  DeviceBuffer upload(const CopyableRange auto& content) const {
    return ok(DeviceBuffer::copy_of(device_, content));
  }
  // Launches the kernel that has the template's name, and waits for it.
  template <class Parameters>
  void run(const KernelSpec& spec, const std::array<std::uint32_t, 3>& grid,
           const Parameters& parameters) const {
    const auto current = ok(device_->make_current());
    const Function function = ok(runtime_->function(spec, 0, spec.name));
    LaunchConfig config;
    config.grid = {grid[0], grid[1], grid[2]};
    config.stream = stream_.handle();
    ok(function.launch(config, parameters));
    ok(stream_.synchronize());
  }

 private:
  std::shared_ptr<Runtime> runtime_;
  std::shared_ptr<const Device> device_;
  Stream stream_;
};

}  // namespace cubinet::test
