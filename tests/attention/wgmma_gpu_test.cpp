// SPDX-License-Identifier: Apache-2.0
// Tiles of 64 rows by the products of warpgroups, through plan, bind and run. Needs a GPU of 9.0
// and NVRTC.
#include "decode_gpu_fixture.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

namespace cubinet {
namespace {

using test::ok;
using namespace test::gpu;

AttentionProblem full_tile(std::uint32_t head_dim = 128, std::uint32_t page_size = 64) {
  AttentionProblem problem = many_borders(head_dim, page_size);
  problem.q_len = 8;
  return problem;
}

// Returns the kernel that plans prefer of those with products of warpgroups. For few of these short
// sequences they prefer other tiles.
KernelSpec warpgroups(const Gpu& gpu, const AttentionProblem& problem) {
  const std::vector<KernelSpec> kernels = kernels_of(gpu, problem);
  const auto found = std::find_if(kernels.begin(), kernels.end(), [](const KernelSpec& kernel) {
    return kernel.name == "attention_decode_wgmma";
  });
  REQUIRE(found != kernels.end());
  return *found;
}

void check_warpgroups(const Gpu& gpu, const AttentionProblem& problem) {
  const KernelSpec kernel = warpgroups(gpu, problem);
  for (const std::uint32_t splits : {1U, 3U})
    check_against_reference(gpu, problem, splits, kernel);
}

TEST_CASE("Warpgroups agree with float64 for every head dim, page size and type, split or not") {
  const auto gpu = hopper();
  if (!gpu) return;
  for (const DataType type : {DataType::bf16, DataType::fp16}) {
    for (const std::uint32_t head_dim : {64U, 128U, 256U}) {
      AttentionProblem problem = full_tile(head_dim);
      problem.data_type_k = problem.data_type_v = type;
      if (type == DataType::fp16) problem.data_type_q = problem.data_type_o = type;
      check_warpgroups(*gpu, problem);
    }
    for (const std::uint32_t page_size : {8U, 16U, 32U, 128U, 256U}) {
      AttentionProblem problem = full_tile(128, page_size);
      problem.data_type_k = problem.data_type_v = type;
      if (type == DataType::fp16) problem.data_type_q = problem.data_type_o = type;
      check_warpgroups(*gpu, problem);
    }
  }
}

TEST_CASE("Warpgroups agree with windows, masks, sinks, soft caps, page tables apart and ragged rows") {
  const auto gpu = hopper();
  if (!gpu) return;
  const auto check = [&](auto change) {
    AttentionProblem problem = full_tile();
    problem.lse = true;
    change(problem);
    check_warpgroups(*gpu, problem);
  };
  using P = AttentionProblem;
  check([](P& p) { p.q_len = 5; });
  check([](P& p) { p.q_len = 13; });
  check([](P& p) { p.heads_q = 14, p.q_len = 9; });
  check([](P& p) { p.mask = AttentionMask::dense; });
  check([](P& p) { p.mask = AttentionMask::custom, p.window = 90, p.ragged_q = true; });
  check([](P& p) { p.window = 100; });
  check([](P& p) { p.soft_cap = 20; });
  check([](P& p) { p.sinks = true; });
  check([](P& p) { p.separate_page_tables = true; });
  check([](P& p) { p.ragged_q = true, p.scales_on_device = true, p.output_scale = 3; });
  check([](P& p) { p.head_dim_v = 64; });
}

TEST_CASE("Both families agree with each other, and warpgroups with themselves to the bit") {
  const auto gpu = hopper();
  if (!gpu) return;
  const AttentionProblem problem = full_tile();
  const AttentionInputs inputs =
      ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::borders), 5));
  const BoundAttention attention = bind(*gpu, problem, 0, true, warpgroups(*gpu, problem));
  const Outputs first = decode(*gpu, attention, inputs);
  for (int i = 0; i < 5; ++i)
    CHECK(decode(*gpu, attention, inputs).o == first.o);
  RuntimeOptions portable;
  portable.targets.pinned = SmTarget{9, 0, TargetKind::baseline};
  const std::shared_ptr<Runtime> runtime = ok(Runtime::create(portable));
  const DeviceProperties& properties = gpu->device->properties();
  PlanOptions options;
  options.targets = portable.targets;
  const AttentionPlan plan = ok(plan_attention(
      problem, {properties.capability, properties.multiprocessors, properties.maximum_shared_bytes_per_block},
      {}, ok(AttentionBackends::builtin()), options));
  CHECK(plan.row.implementation == "attention_decode");
  const Outputs other = decode(Gpu{runtime, ok(runtime->device(0)), portable.targets},
                               ok(BoundAttention::bind(*runtime, plan, 0)), inputs);
  const AttentionOutputs reference = ok(attention_reference(problem, inputs));
  for (const Outputs* outputs : {&first, &other})
    CHECK(ok(compare_attention(problem, reference, outputs->o, outputs->lse)).worst_row < 1e-2);
}

}  // namespace
}  // namespace cubinet
