// SPDX-License-Identifier: Apache-2.0
// Latent attention and head dim 512 through plan, bind and run. Needs a GPU and NVRTC.
#include "decode_gpu_fixture.hpp"

#include <algorithm>

namespace cubinet {
namespace {

using test::ok;
using namespace test::gpu;

// Without the target that Hopper's own kernels need.
std::optional<Gpu> portable_gpu() {
  TargetPolicy targets;
  targets.forbidden = {SmTarget{9, 0, TargetKind::specific}};
  return Gpu::open(targets);
}

AttentionProblem latent_borders(std::uint32_t heads, std::uint32_t page_size = 64) {
  AttentionProblem problem = many_borders(512, page_size);
  problem.heads_q = heads;
  problem.heads_kv = 1;
  problem.head_dim_qk = 576;
  return problem;
}

TEST_CASE("Latent attention agrees with float64 for every number of heads and page size, split or not") {
  const auto gpu = portable_gpu();
  if (!gpu) return;
  for (const std::uint32_t heads : {1U, 8U, 16U, 24U, 64U, 128U}) {
    for (const std::uint32_t splits : {1U, 3U})
      check_against_reference(*gpu, latent_borders(heads), splits);
  }
  for (const std::uint32_t page_size : {8U, 16U, 32U, 128U, 256U})
    check_against_reference(*gpu, latent_borders(16, page_size));
}

TEST_CASE("Latent attention of several query tokens is causal in tiles of every size, ragged or not") {
  const auto gpu = portable_gpu();
  if (!gpu) return;
  for (const std::uint32_t heads : {8U, 16U, 64U}) {
    for (const std::uint32_t q_len : {2U, 4U}) {
      AttentionProblem problem = latent_borders(heads, 32);
      problem.q_len = q_len;
      problem.ragged_q = heads == 16;
      problem.lse = true;
      for (const std::uint32_t splits : {1U, 3U})
        check_against_reference(*gpu, problem, splits);
    }
  }
}

TEST_CASE("The output of latent attention follows its scale, and the logits theirs, from both places") {
  const auto gpu = portable_gpu();
  if (!gpu) return;
  for (const double output_scale : {0.0625, 1.0, 3.0}) {
    for (const bool on_device : {false, true}) {
      AttentionProblem problem = latent_borders(16);
      problem.output_scale = output_scale;
      problem.softmax_scale = 0.03;
      problem.scales_on_device = on_device;
      for (const std::uint32_t splits : {1U, 3U})
        check_against_reference(*gpu, problem, splits);
    }
  }
}

TEST_CASE("Head dim 512 agrees with windows, masks, sinks, soft caps, page tables apart and both types") {
  const auto gpu = portable_gpu();
  if (!gpu) return;
  const auto check = [&](auto change) {
    AttentionProblem problem = many_borders(512, 32);
    change(problem);
    for (const std::uint32_t splits : {1U, 3U})
      check_against_reference(*gpu, problem, splits);
  };
  using P = AttentionProblem;
  check([](P&) {});
  check([](P& p) { p.q_len = 3; });
  check([](P& p) { p.q_len = 8, p.mask = AttentionMask::dense; });
  check([](P& p) { p.q_len = 8, p.mask = AttentionMask::custom, p.window = 90, p.ragged_q = true; });
  check([](P& p) { p.window = 37, p.q_len = 2; });
  check([](P& p) { p.sinks = true, p.soft_cap = 3.0; });
  check([](P& p) { p.separate_page_tables = true, p.tokens_per_page = 8; });
  check([](P& p) { p.kv_order = KvOrder::hnd, p.data_type_o = DataType::fp32; });
  check([](P& p) { p.data_type_q = p.data_type_k = p.data_type_v = p.data_type_o = DataType::fp16; });
  check([](P& p) { p.data_type_o = DataType::e4m3; });
}

// A later tile's window begins in the middle of a step, so that what a block takes of it must still
// end where the next block's part begins.
TEST_CASE("Windows of several tiles agree where blocks share a tile, in steps of every size") {
  const auto gpu = portable_gpu();
  if (!gpu) return;
  AttentionProblem problem = many_borders(512, 32);
  problem.heads_q = 12;
  problem.heads_kv = 3;
  problem.q_len = 12;
  for (const DataType kv : {DataType::bf16, DataType::e4m3}) {
    for (const std::uint32_t window : {70U, 77U, 90U, 128U}) {
      problem.data_type_k = problem.data_type_v = kv;
      problem.window = window;
      for (const std::uint32_t splits : {2U, 3U, 8U})
        check_against_reference(*gpu, problem, splits);
    }
  }
}

TEST_CASE("KV of eight bits agrees under every type of Q, of both head dims and in tiles of every size") {
  const auto gpu = portable_gpu();
  if (!gpu) return;
  for (const DataType q : {DataType::bf16, DataType::fp16, DataType::e4m3}) {
    for (const std::uint32_t head_dim : {512U, 576U}) {
      for (const std::uint32_t heads : {16U, 32U, 128U}) {
        AttentionProblem problem = latent_borders(heads, heads == 32 ? 16 : 64);
        problem.head_dim_qk = head_dim;
        problem.data_type_q = q;
        problem.data_type_k = problem.data_type_v = DataType::e4m3;
        problem.data_type_o = q == DataType::fp16 ? DataType::fp32 : q;
        problem.output_scale = 0.5;
        if (heads == 32) problem.soft_cap = 20.0;
        for (const std::uint32_t splits : {1U, 3U})
          check_against_reference(*gpu, problem, splits);
      }
    }
  }
}

TEST_CASE("Rows of a batch with one long sequence have the same bits on every run, and leave the counters") {
  const auto gpu = portable_gpu();
  if (!gpu) return;
  for (const std::uint32_t head_dim : {512U, 576U}) {
    AttentionProblem problem = latent_borders(16);
    problem.head_dim_qk = head_dim;
    problem.batch = 40;
    problem.kv_len = 9000;
    const BoundAttention attention = bind(*gpu, problem);
    if (head_dim == 512) CHECK(attention.plan().row.implementation == "attention_wide");
    std::vector<std::int32_t> lengths(problem.batch);
    for (std::size_t i = 0; i < lengths.size(); ++i)
      lengths[i] = static_cast<std::int32_t>(20 + i * 37 % 300);
    lengths[20] = 9000;
    const AttentionInputs inputs = ok(make_attention_inputs(problem, lengths, 11));
    const TensorBuffers buffers = upload(*gpu, attention, inputs);
    const Stream stream = ok(Stream::create(gpu->device));
    Bytes first;
    for (int run = 0; run < 3; ++run) {
      ok(buffers.poison(/*scratch=*/true));
      ok(attention.run(buffers.tensors(), stream.handle()));
      ok(stream.synchronize());
      const Bytes o = ok(buffers.output());
      if (run == 0) compare(problem, inputs, o, ok(buffers.lse()));
      if (run == 0) first = o;
      CHECK(o == first);
    }
  }
}

}  // namespace
}  // namespace cubinet
