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

// The settings of all benchmarks.
struct Settings {
  int device = 0;
  int rounds = 7;
  CompilerSearch compiler;
  std::filesystem::path scratch;  // an existing folder that only this run uses
  std::string commit;
  std::filesystem::path output;  // empty: stdout
};

// Returns the library's catalogue and two templates of nearly empty kernels: bench_struct takes one
// structure of the size of attention_decode's, bench_arguments takes 16 arguments. Each value of
// `variant` is a different kernel.
Result<TemplateCatalog> bench_templates();

struct BenchStruct {
  unsigned long long out = 0;  // 0: nothing is written
  std::array<int, 94> values{};
};
static_assert(sizeof(BenchStruct) == sizeof(kernel_templates::AttentionDecodeParameters));

KernelSpec attention_spec(int head_dim, int page_size);
// Returns the kernel that combines partial results of attention_spec's kernel.
KernelSpec combine_spec(int head_dim);
KernelSpec rms_norm_spec(int hidden_size);
KernelSpec small_spec(const char* template_name, int variant);

// Resolves `count` kernels of small_spec("bench_struct", …), compiles them on all cores and loads
// them.
Result<std::vector<std::shared_ptr<const Kernel>>> load_small_kernels(Runtime& runtime, int device,
                                                                      int count);

// Returns options for a Runtime over a home, if a path is given, and bundles, with the bench's
// templates.
Result<RuntimeOptions> runtime_options(const Settings& settings, const std::filesystem::path& home,
                                       const std::vector<std::filesystem::path>& bundles = {});

// Returns the best target of a device. Without a driver it is sm_90a, so that compilation can be
// measured anywhere.
SmTarget best_target(int device);

// Returns a unique path under the settings' scratch folder. Does not create it.
std::filesystem::path fresh_path(const Settings& settings, const std::string& stem);

}  // namespace cubinet::bench
