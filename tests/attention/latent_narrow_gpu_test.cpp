// SPDX-License-Identifier: Apache-2.0
// Latent attention of few rows, through plan, bind and run. Needs a GPU of 9.0 and NVRTC.
#include "decode_gpu_fixture.hpp"

namespace cubinet {
namespace {

using test::ok;
using namespace test::gpu;

AttentionProblem few_rows(std::uint32_t heads, std::uint32_t page_size, DataType q, DataType kv) {
  AttentionProblem problem = many_borders(512, page_size);
  problem.heads_q = heads;
  problem.heads_kv = 1;
  problem.head_dim_qk = 576;
  problem.lse = true;
  problem.data_type_q = q;
  problem.data_type_k = problem.data_type_v = kv;
  problem.data_type_o = q == DataType::e4m3 ? DataType::bf16 : q;
  return problem;
}

void check_narrow(const Gpu& gpu, const AttentionProblem& problem) {
  for (const std::uint32_t splits : {1U, 3U}) {
    CHECK(bind(gpu, problem, splits).plan().row.implementation == "attention_latent_narrow");
    check_against_reference(gpu, problem, splits);
  }
}

TEST_CASE("Few rows of latent attention are computed as float64 does, of every page size and type") {
  const auto gpu = hopper();
  if (!gpu) return;
  for (const std::uint32_t page_size : {8U, 16U, 32U, 64U, 128U, 256U})
    check_narrow(*gpu,
                 few_rows(16, page_size, DataType::bf16, page_size == 16 ? DataType::e4m3 : DataType::bf16));
  check_narrow(*gpu, few_rows(7, 64, DataType::fp16, DataType::fp16));
  check_narrow(*gpu, few_rows(5, 64, DataType::fp16, DataType::e4m3));
  check_narrow(*gpu, few_rows(1, 64, DataType::bf16, DataType::e4m3));
  for (const std::uint32_t page_size : {8U, 64U})
    check_narrow(*gpu, few_rows(16, page_size, DataType::e4m3, DataType::e4m3));
}

TEST_CASE("Few rows are of several query tokens too, ragged or not, causal or dense") {
  const auto gpu = hopper();
  if (!gpu) return;
  for (const DataType kv : {DataType::bf16, DataType::e4m3}) {
    AttentionProblem problem = few_rows(4, 32, DataType::bf16, kv);
    problem.q_len = 4;
    problem.ragged_q = true;
    check_narrow(*gpu, problem);
    problem.ragged_q = false;
    problem.mask = AttentionMask::dense;
    check_narrow(*gpu, problem);
  }
}

TEST_CASE("The output of few rows follows its scale, and the logits theirs, with sinks and in every type") {
  const auto gpu = hopper();
  if (!gpu) return;
  for (const DataType kv : {DataType::bf16, DataType::e4m3}) {
    for (const DataType type : {DataType::bf16, DataType::fp16, DataType::fp32, DataType::e4m3}) {
      AttentionProblem problem = few_rows(12, 64, DataType::bf16, kv);
      problem.data_type_o = type;
      // Not so large that the rounding of P, of bf16, is several steps of an output near 0.
      problem.output_scale = type == DataType::e4m3 ? 0.5 : 3.0;
      problem.softmax_scale = 0.03;
      problem.scales_on_device = type == DataType::bf16 || type == DataType::fp32;
      // A sink may leave rows below the smallest numbers of the narrower types.
      problem.sinks = type == DataType::bf16;
      check_narrow(*gpu, problem);
    }
  }
}

}  // namespace
}  // namespace cubinet
