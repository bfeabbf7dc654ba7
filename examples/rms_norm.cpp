// SPDX-License-Identifier: Apache-2.0
// Requests a kernel by specification, launches it, and prints where the build came from. Run it
// twice: the first run compiles the kernel, the second finds the stored build.
//
//   example_rms_norm [HOME [CUDA]]
//
// CUDA is a CUDA toolkit, or the folder nvidia/cu13 of NVIDIA's wheels. It is needed if
// /usr/local/cuda has no NVRTC.
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/kernel_templates/rms_norm_parameters.h>
#include <cubinet/loader/memory.hpp>
#include <cubinet/runtime.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

namespace {

cubinet::Result<void> run(const char* home, const char* cuda) {
  constexpr int kRows = 4;
  constexpr int kHidden = 4096;

  cubinet::RuntimeOptions options;
  CUBINET_TRY_ASSIGN(options.stores.emplace_back(), cubinet::Home::open({.path = home}));
  if (cuda != nullptr) options.compiler.toolkit_roots.insert(options.compiler.toolkit_roots.begin(), cuda);
  options.observer = [](const cubinet::KernelEvent& event) {
    if (!event.source) return;
    std::printf("%s: %s, %.1f ms\n", event.spec.to_string().c_str(), to_string(*event.source).data(),
                event.total_seconds * 1e3);
  };
  CUBINET_TRY_ASSIGN(auto runtime, cubinet::Runtime::create(std::move(options)));

  cubinet::KernelSpec spec{"rms_norm", {}};
  spec.set("dtype", "fp32").set("dtype_weight", "fp32").set("hidden_size", kHidden);
  CUBINET_TRY_ASSIGN(auto function, runtime->function(spec, /*device=*/0));

  CUBINET_TRY_ASSIGN(auto device, runtime->device(0));
  CUBINET_TRY_ASSIGN(auto current, device->make_current());
  const std::vector<float> x(kRows * kHidden, 2.0F);
  const std::vector<float> weight(kHidden, 3.0F);
  std::vector<float> y(x.size());
  CUBINET_TRY_ASSIGN(auto x_device, cubinet::DeviceBuffer::copy_of(device, x));
  CUBINET_TRY_ASSIGN(auto weight_device, cubinet::DeviceBuffer::copy_of(device, weight));
  CUBINET_TRY_ASSIGN(auto y_device, cubinet::DeviceBuffer::copy_of(device, y));

  cubinet::kernel_templates::RmsNormParameters parameters{};
  parameters.x = x_device.address();
  parameters.weight = weight_device.address();
  parameters.y = y_device.address();
  parameters.x_row_stride = parameters.y_row_stride = kHidden;
  parameters.rows = kRows;
  parameters.epsilon = 1e-6F;
  cubinet::LaunchConfig config;
  config.grid = {kRows, 1, 1};
  CUBINET_TRY(function.launch(config, parameters));
  CUBINET_TRY(y_device.copy_to(y));

  for (const float value : y) {
    // This form of the comparison rejects NaN.
    if (!(std::abs(value - 3.0F) <= 1e-3F))
      return cubinet::Error{cubinet::ErrorCode::internal, "the result is wrong"};
  }
  std::printf("2 / 2 * 3 = %g, %zu times\n", static_cast<double>(y.front()), y.size());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const auto done = run(argc > 1 ? argv[1] : "cubinet-home", argc > 2 ? argv[2] : nullptr);
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.error().to_line().c_str());
  return 1;
}
