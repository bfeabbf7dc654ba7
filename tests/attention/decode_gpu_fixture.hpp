// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/ok.hpp"
#include "support/skip.hpp"

#include <cubinet/attention/backend.hpp>
#include <cubinet/attention/reference_values.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/loader/stream.hpp>
#include <cubinet/runtime.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Checks the results of decode attention on a GPU, through plan, bind and run, against float64.
namespace cubinet::test::gpu {

// A runtime and its first device. Tests that run one after the other share the kernels in the home
// CUBINET_TEST_HOME, if it is set; otherwise everything is kept in memory.
struct Gpu {
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<const Device> device;
  TargetPolicy targets;

  static std::optional<Gpu> open(const TargetPolicy& targets = {}) {
    RuntimeOptions options;
    options.targets = targets;
    if (const char* library = std::getenv("CUBINET_TEST_DRIVER")) options.driver_library = library;
    if (const char* home = std::getenv("CUBINET_TEST_HOME"))
      options.stores = {ok(Home::open(HomeOptions{home}))};
    const auto made = Runtime::create(std::move(options));
    REQUIRE(made);
    auto opened = (*made)->device(0);
    if (!opened) {
      test::skip(opened.error().to_line());
      return std::nullopt;
    }
    return Gpu{*made, *opened, targets};
  }
};

// Returns nullopt and reports the skip if the first device is of another generation.
inline std::optional<Gpu> hopper() {
  auto gpu = Gpu::open();
  if (!gpu || gpu->device->properties().capability == ComputeCapability{9, 0}) return gpu;
  test::skip("the device is not of 9.0");
  return std::nullopt;
}

// Returns the kernels of templates that run the problem, each once.
inline std::vector<KernelSpec> kernels_of(const Gpu& gpu, const AttentionProblem& problem) {
  const DeviceProperties& device = gpu.device->properties();
  const PlanRequest request{
      problem, {device.capability, device.multiprocessors, device.maximum_shared_bytes_per_block}, {}, {}};
  const AttentionBackends backends = ok(AttentionBackends::builtin());
  std::vector<KernelSpec> kernels;
  for (const PlanOptions& options : ok(backends.find(kTemplatesBackend)->alternatives(request))) {
    if (std::find(kernels.begin(), kernels.end(), *options.kernel) == kernels.end())
      kernels.push_back(*options.kernel);
  }
  return kernels;
}

// Binds the problem. `splits` 0: as planned. `kernel`: the kernel; nullopt: as planned.
inline BoundAttention bind(const Gpu& gpu, const AttentionProblem& problem, std::uint32_t splits = 0,
                           bool starts_early = true, std::optional<KernelSpec> kernel = std::nullopt) {
  const DeviceProperties& properties = gpu.device->properties();
  PlanOptions options;
  if (splits > 0) options.splits = splits;
  options.starts_early = starts_early;
  options.targets = gpu.targets;
  options.kernel = std::move(kernel);
  const AttentionPlan plan = ok(plan_attention(
      problem, {properties.capability, properties.multiprocessors, properties.maximum_shared_bytes_per_block},
      {}, ok(AttentionBackends::builtin()), options));
  return ok(BoundAttention::bind(*gpu.runtime, plan, 0));
}

inline TensorBuffers upload(const Gpu& gpu, const BoundAttention& attention, const AttentionInputs& inputs) {
  const AttentionPlan& plan = attention.plan();
  return ok(TensorBuffers::create(gpu.device, plan.request.problem, inputs, plan.workspace));
}

// Overwrites the page numbers behind each sequence's last page with numbers of no page, as callers
// pad their page tables. A kernel that follows one reads outside of the pool. Returns the table of
// before, which the reference needs.
inline std::vector<std::int32_t> pad_page_table(const AttentionProblem& problem, AttentionInputs& inputs) {
  std::vector<std::int32_t> table = inputs.page_table;
  const std::size_t width = problem.pages_per_sequence();
  const std::size_t tables = problem.separate_page_tables ? 2 : 1;
  for (std::size_t row = 0; width != 0 && row < inputs.page_table.size() / width; ++row) {
    const auto length = static_cast<std::size_t>(inputs.kv_lengths[row / tables]);
    const std::size_t used = (length + problem.tokens_per_page - 1) / problem.tokens_per_page;
    for (std::size_t page = used; page < width; ++page)
      inputs.page_table[row * width + page] = page % 2 == 0 ? -1 : 0x7fffffff;
  }
  return table;
}

struct Outputs {
  Bytes o;
  std::vector<float> lse;
};

inline Outputs decode(const Gpu& gpu, const BoundAttention& attention, const AttentionInputs& inputs) {
  const TensorBuffers buffers = upload(gpu, attention, inputs);
  const Stream stream = ok(Stream::create(gpu.device));
  ok(attention.check(buffers.tensors()));
  ok(attention.run(buffers.tensors(), stream.handle()));  // no context is current
  ok(stream.synchronize());
  return {ok(buffers.output()), ok(buffers.lse())};
}

// The largest deviations of a correct result.
struct Limits {
  double row = 1e-2;       // of an output of 16 or 32 bits
  double all_rows = 4e-2;  // of an output of e4m3
  std::int64_t steps = 1;  // of e4m3
  double lse = 1e-3;
};

// Returns the limits of a kernel of this template. A weight that is rounded to e4m3 differs by up
// to 2^-4, and by 0.026 on average, from which small elements of a row differ by many steps. Tensor
// cores cut the sum of a logit to 14 bits after each of its products: of sums below 256, which are
// then scaled by 1 / sqrt(128), each product cuts up to 2^-5 * 0.09. There are four. The logits of
// latent attention have 18 products and 1 / sqrt(192), and their weights are fp16.
inline Limits limits_of(const AttentionProblem& problem, std::string_view kernel) {
  if (problem.data_type_q != DataType::e4m3) return {};
  if (kernel == "attention_prefill_wgmma") return {7e-2, 6e-2, 127, 1.2e-2};
  if (kernel == "attention_latent") return {3e-2, 6e-2, 127, 4.1e-2};
  return {};
}

inline void compare(const AttentionProblem& problem, const AttentionOutputs& reference, const Bytes& o,
                    const std::vector<float>& lse, const Limits& limits = {}) {
  const AttentionDeviation error = ok(compare_attention(problem, reference, o, lse));
  if (problem.data_type_o == DataType::e4m3) {
    CHECK(error.worst_steps <= limits.steps);
    CHECK(error.all_rows < limits.all_rows);
  } else {
    CHECK(error.worst_row < limits.row);
  }
  CHECK(error.worst_lse < limits.lse);
}

inline void compare(const AttentionProblem& problem, const AttentionInputs& inputs, const Bytes& o,
                    const std::vector<float>& lse, const Limits& limits = {}) {
  compare(problem, ok(attention_reference(problem, inputs)), o, lse, limits);
}

// Compares the output with the reference. `splits` 0, `kernel` nullopt: as planned.
inline void check_against_reference(const Gpu& gpu, const AttentionProblem& problem, std::uint32_t splits = 0,
                                    std::optional<KernelSpec> kernel = std::nullopt) {
  const BoundAttention attention = bind(gpu, problem, splits, true, std::move(kernel));
  const KernelSpec& chosen = std::get<KernelSpec>(attention.plan().steps.front().kernel);
  CAPTURE(chosen.to_string());
  CAPTURE(attention.plan().division.kv_splits);
  AttentionInputs inputs =
      ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::borders), 11));
  std::vector<std::int32_t> table = pad_page_table(problem, inputs);
  const Outputs outputs = decode(gpu, attention, inputs);
  inputs.page_table = std::move(table);
  compare(problem, inputs, outputs.o, outputs.lse, limits_of(problem, chosen.name));
}

// Returns 19 sequences: the longest, an empty one, and lengths on both sides of slices, pages and
// tiles.
inline AttentionProblem many_borders(std::uint32_t head_dim, std::uint32_t page_size) {
  AttentionProblem problem;
  problem.batch = 19;
  problem.heads_q = 16;
  problem.heads_kv = 2;
  problem.head_dim_qk = problem.head_dim_v = head_dim;
  problem.tokens_per_page = page_size;
  problem.kv_len = 700;
  return problem;
}

}  // namespace cubinet::test::gpu
