// SPDX-License-Identifier: Apache-2.0
#include "kernel_set.hpp"

#include "bare_driver.hpp"

#include <cubinet/base/parallel.hpp>
#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/cubin_registry/home.hpp>

#include <atomic>
#include <mutex>

namespace cubinet::bench {
namespace {

constexpr const char* kStructSource = R"cuda(/* cubinet-template
{
  "name": "bench_struct",
  "interface": 1,
  "summary": "Nearly empty kernel with one structure",
  "minimum_target": "sm_80",
  "parameters": [
    {"name": "variant", "type": "int", "minimum": 0, "maximum": 1000000, "default": 0,
     "summary": "distinguishes otherwise equal kernels"}
  ],
  "constraints": [],
  "kernels": [
    {"name": "bench_struct", "threads": "32", "dynamic_shared_bytes": "0", "parameter_bytes": 384}
  ]
}
*/
#include <cubinet/parameters.cuh>

struct BenchStruct {
  unsigned long long out;
  int values[94];
};

extern "C" __global__ void __launch_bounds__(32) bench_struct(const __grid_constant__ BenchStruct p) {
  if (p.out != 0) {
    *reinterpret_cast<int*>(p.out) = p.values[threadIdx.x] + static_cast<int>(cubinet::parameters::variant);
  }
}
)cuda";

constexpr const char* kArgumentsSource = R"cuda(/* cubinet-template
{
  "name": "bench_arguments",
  "interface": 1,
  "summary": "Nearly empty kernel with 16 arguments",
  "minimum_target": "sm_80",
  "parameters": [
    {"name": "variant", "type": "int", "minimum": 0, "maximum": 1000000, "default": 0,
     "summary": "distinguishes otherwise equal kernels"}
  ],
  "constraints": [],
  "kernels": [
    {"name": "bench_arguments", "threads": "32", "dynamic_shared_bytes": "0", "parameter_bytes": 0}
  ]
}
*/
#include <cubinet/parameters.cuh>

extern "C" __global__ void __launch_bounds__(32)
    bench_arguments(int* p0, int* p1, int* p2, int* p3, int* p4, int* p5, int* p6, int* p7, int i0, int i1, int i2,
                    int i3, int i4, int i5, int i6, int i7) {
  if (p0 != nullptr) {
    *p0 = *p1 + *p2 + *p3 + *p4 + *p5 + *p6 + *p7 + i0 + i1 + i2 + i3 + i4 + i5 + i6 + i7 +
          static_cast<int>(cubinet::parameters::variant);
  }
}
)cuda";

}  // namespace

Result<TemplateCatalog> bench_templates() {
  CUBINET_TRY_ASSIGN(TemplateCatalog templates, TemplateCatalog::builtin());
  for (const char* source : {kStructSource, kArgumentsSource}) {
    CUBINET_TRY_ASSIGN(std::shared_ptr<const KernelTemplate> added, KernelTemplate::parse(source, "bench"));
    CUBINET_TRY(templates.add(std::move(added)));
  }
  return templates;
}

KernelSpec attention_spec(int head_dim, int page_size) {
  KernelSpec spec{"attention_decode", {}};
  spec.set("head_dim_qk", head_dim).set("head_dim_v", head_dim).set("page_size", page_size);
  if (head_dim == 256) spec.set("tile_size_kv", 32);
  return spec;
}

KernelSpec combine_spec(int head_dim) {
  return KernelSpec{"attention_combine", {}}.set("head_dim_v", head_dim);
}

KernelSpec rms_norm_spec(int hidden_size) {
  return KernelSpec{"rms_norm", {}}.set("hidden_size", hidden_size);
}

KernelSpec small_spec(const char* template_name, int variant) {
  return KernelSpec{template_name, {}}.set("variant", variant);
}

Result<std::vector<std::shared_ptr<const Kernel>>> load_small_kernels(Runtime& runtime, int device,
                                                                      int count) {
  std::vector<std::shared_ptr<const Kernel>> kernels;
  for (int variant = 0; variant < count; ++variant) {
    CUBINET_TRY_ASSIGN(kernels.emplace_back(), runtime.resolve(small_spec("bench_struct", variant)));
  }
  std::mutex mutex;
  Result<void> outcome;
  parallel_for(kernels.size(), 0, [&](std::size_t index) {
    const auto function = runtime.function(*kernels[index], device);
    const std::lock_guard lock(mutex);
    if (!function) outcome = function.error();
  });
  CUBINET_TRY(outcome);
  return kernels;
}

Result<RuntimeOptions> runtime_options(const Settings& settings, const std::filesystem::path& home,
                                       const std::vector<std::filesystem::path>& bundles) {
  RuntimeOptions options;
  if (!home.empty()) {
    CUBINET_TRY_ASSIGN(options.stores.emplace_back(), Home::open({.path = home.string()}));
  }
  for (const std::filesystem::path& bundle : bundles) {
    CUBINET_TRY_ASSIGN(options.stores.emplace_back(), Bundle::open(bundle.string()));
  }
  options.compiler = settings.compiler;
  CUBINET_TRY_ASSIGN(options.templates, bench_templates());
  return options;
}

SmTarget best_target(int device) {
  constexpr SmTarget kHopper{9, 0, TargetKind::specific};
  const Result<std::shared_ptr<const Driver>> driver = Driver::open();
  if (!driver || device >= static_cast<int>((*driver)->devices().size())) return kHopper;
  const std::vector<SmTarget> targets =
      targets_for((*driver)->devices()[static_cast<std::size_t>(device)].capability);
  return targets.empty() ? kHopper : targets.front();
}

std::filesystem::path fresh_path(const Settings& settings, const std::string& stem) {
  static std::atomic<unsigned> counter{0};
  return settings.scratch / (stem + "-" + std::to_string(counter++));
}

}  // namespace cubinet::bench
