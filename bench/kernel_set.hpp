// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/kernel_templates/attention_decode_parameters.h>
#include <cubinet/runtime.hpp>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace cubinet::bench {

// What every benchmark is told.
struct Settings {
  int device = 0;
  int rounds = 7;
  CompilerSearch compiler;
  std::filesystem::path scratch;  // an existing folder of this run's own
  std::string commit;
  std::filesystem::path output;  // empty: stdout
};

// The catalogue of the library and two templates of nearly empty kernels: bench_struct takes one structure of
// the size of attention_decode's, bench_arguments takes 16 arguments. Their `variant` makes as many different
// kernels as wanted.
Result<TemplateCatalog> bench_templates();

struct BenchStruct {
  unsigned long long out = 0;  // 0: nothing is written
  std::array<int, 84> values{};
};
static_assert(sizeof(BenchStruct) == sizeof(kernel_templates::AttentionDecodeParameters));

KernelSpec attention_spec(int head_dim, int page_size);
// Returns the kernel that combines partial results of attention_spec's kernel.
KernelSpec combine_spec(int head_dim);
KernelSpec rms_norm_spec(int hidden_size);
KernelSpec small_spec(const char* template_name, int variant);

// For a Runtime over a home, where a path is given, and bundles, with the bench's templates.
Result<RuntimeOptions> runtime_options(const Settings& settings, const std::filesystem::path& home,
                                       const std::vector<std::filesystem::path>& bundles = {});

// The target that a device's kernels are built for: its best. Without a driver sm_90a, so that compiling can
// be measured anywhere.
SmTarget best_target(int device);

// A folder of a unique name under the settings' scratch; not created.
std::filesystem::path fresh_path(const Settings& settings, const std::string& stem);

}  // namespace cubinet::bench
