// SPDX-License-Identifier: Apache-2.0
// Tests latent attention by warpgroup products, through plan, bind and run. Needs a GPU of 9.0 and
// NVRTC.
#include "decode_gpu_fixture.hpp"
#include "templates/decode/attention_latent_family.hpp"
#include "templates/decode/decode_plan.hpp"

namespace cubinet {
namespace {

using test::ok;
using namespace test::gpu;

AttentionProblem latent_tiles(std::uint32_t heads, std::uint32_t page_size = 64) {
  AttentionProblem problem = many_borders(512, page_size);
  problem.heads_q = heads;
  problem.heads_kv = 1;
  problem.head_dim_qk = 576;
  problem.lse = true;
  return problem;
}

// Names the kernel, because the planner takes the smaller tiles of attention_latent_narrow for some
// of these problems.
void check_latent(const Gpu& gpu, const AttentionProblem& problem) {
  for (const std::uint32_t splits : {1U, 3U}) {
    PlanRequest request{problem, DeviceFacts::of(gpu.device->properties()), {}, {}};
    request.options.splits = splits;
    const KernelSpec kernel = ok(plan_decode(request, kAttentionLatent)).spec;
    CHECK(bind(gpu, problem, splits, true, kernel).plan().row.implementation == "attention_latent");
    check_against_reference(gpu, problem, splits, kernel);
  }
}

TEST_CASE("Warpgroups compute latent attention as float64 does, of every number of heads and page size") {
  const auto gpu = hopper();
  if (!gpu) return;
  for (const std::uint32_t heads : {16U, 24U, 32U, 64U, 100U, 128U})
    check_latent(*gpu, latent_tiles(heads));
  for (const std::uint32_t page_size : {8U, 16U, 32U, 128U, 256U})
    check_latent(*gpu, latent_tiles(24, page_size));
  for (const std::uint32_t page_size : {8U, 128U, 256U})
    check_latent(*gpu, latent_tiles(100, page_size));
}

TEST_CASE("Warpgroups compute latent attention of several query tokens, ragged or not, causal or dense") {
  const auto gpu = hopper();
  if (!gpu) return;
  for (const std::uint32_t heads : {8U, 16U, 64U}) {
    for (const std::uint32_t q_len : {2U, 4U}) {
      AttentionProblem problem = latent_tiles(heads, 32);
      problem.q_len = q_len;
      problem.ragged_q = heads != 8;
      if (heads == 64) problem.mask = AttentionMask::dense;
      check_latent(*gpu, problem);
    }
  }
}

TEST_CASE("The output of warpgroups follows its scale, and the logits theirs, with sinks and in every type") {
  const auto gpu = hopper();
  if (!gpu) return;
  for (const DataType type : {DataType::bf16, DataType::fp16, DataType::e4m3}) {
    for (const bool on_device : {false, true}) {
      AttentionProblem problem = latent_tiles(40);
      problem.data_type_o = type;
      if (type == DataType::fp16) problem.data_type_q = problem.data_type_k = problem.data_type_v = type;
      // The output scale keeps the bf16 rounding of P below several steps of an output near 0.
      problem.output_scale = type == DataType::e4m3 ? 0.5 : 3.0;
      problem.softmax_scale = 0.03;
      problem.scales_on_device = on_device;
      // A sink may leave rows below the smallest numbers of the narrower types.
      problem.sinks = on_device && type == DataType::bf16;
      check_latent(*gpu, problem);
    }
  }
}

TEST_CASE("Warpgroups convert KV of e4m3 under queries of every type, for tiles of every size") {
  const auto gpu = hopper();
  if (!gpu) return;
  for (const DataType type : {DataType::bf16, DataType::fp16, DataType::e4m3}) {
    for (const std::uint32_t heads : {24U, 64U}) {
      AttentionProblem problem = latent_tiles(heads, heads == 24 ? 32 : 64);
      problem.data_type_q = type;
      problem.data_type_k = problem.data_type_v = DataType::e4m3;
      problem.data_type_o = DataType::bf16;
      problem.q_len = heads == 64 ? 2 : 1;
      check_latent(*gpu, problem);
    }
  }
}

}  // namespace
}  // namespace cubinet
