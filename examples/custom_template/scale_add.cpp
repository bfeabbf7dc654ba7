// SPDX-License-Identifier: Apache-2.0
// Uses a custom template through the same API as the built-in templates. It parses the text of
// scale_add.cu, specialises it, stores the build, loads it and launches it.
//
//   example_scale_add scale_add.cu [HOME [CUDA]]
//
// CUDA is a CUDA toolkit, or the folder nvidia/cu13 of NVIDIA's wheels. It is needed if
// /usr/local/cuda has no NVRTC.
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/loader/memory.hpp>
#include <cubinet/runtime.hpp>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

// The argument struct, as scale_add.cu declares it.
struct ScaleAddParameters {
  const float* x;
  float* y;
  long long count;
  float a;
};
static_assert(sizeof(ScaleAddParameters) == 32);

cubinet::Result<void> run(const char* template_file, const char* home, const char* cuda) {
  std::ifstream file(template_file, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  CUBINET_TRY_ASSIGN(auto scale_add, cubinet::KernelTemplate::parse(text, template_file));
  cubinet::RuntimeOptions options;
  CUBINET_TRY_ASSIGN(options.stores.emplace_back(), cubinet::Home::open({.path = home}));
  if (cuda != nullptr) options.compiler.toolkit_roots.insert(options.compiler.toolkit_roots.begin(), cuda);
  CUBINET_TRY_ASSIGN(options.templates, cubinet::TemplateCatalog::builtin());
  CUBINET_TRY(options.templates.add(std::move(scale_add)));
  CUBINET_TRY_ASSIGN(auto runtime, cubinet::Runtime::create(std::move(options)));

  cubinet::KernelSpec spec{"scale_add", {}};
  spec.set("dtype", "fp32").set("block", 128);
  CUBINET_TRY_ASSIGN(auto function, runtime->function(spec, /*device=*/0));

  constexpr std::size_t kCount = 1000;
  const std::vector<float> x(kCount, 2.0F);
  std::vector<float> y(kCount, 1.0F);
  CUBINET_TRY_ASSIGN(auto device, runtime->device(0));
  CUBINET_TRY_ASSIGN(auto current, device->make_current());
  CUBINET_TRY_ASSIGN(auto x_device, cubinet::DeviceBuffer::copy_of(device, x));
  CUBINET_TRY_ASSIGN(auto y_device, cubinet::DeviceBuffer::copy_of(device, y));

  const ScaleAddParameters parameters{x_device.as<const float>(), y_device.as<float>(), kCount, 3.0F};
  cubinet::LaunchConfig config;
  config.grid = {2, 1, 1};  // 128 threads with 4 elements each: 512 elements per CTA
  CUBINET_TRY(function.launch(config, parameters));
  CUBINET_TRY(y_device.copy_to(y));
  for (const float value : y) {
    // This form of the comparison rejects NaN.
    if (!(std::abs(value - 7.0F) <= 1e-6F))
      return cubinet::Error{cubinet::ErrorCode::internal, "the result is wrong"};
  }
  std::printf("3 * 2 + 1 = %g, %zu times\n", static_cast<double>(y.front()), y.size());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: example_scale_add scale_add.cu [HOME [CUDA]]\n");
    return 2;
  }
  const auto done = run(argv[1], argc > 2 ? argv[2] : "cubinet-home", argc > 3 ? argv[3] : nullptr);
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.error().to_line().c_str());
  return 1;
}
