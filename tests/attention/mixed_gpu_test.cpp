// SPDX-License-Identifier: Apache-2.0
// Tests batches that mix chunks of prompts with decode rows and empty sequences, in one launch.
// Needs a GPU and NVRTC.
#include "decode_gpu_fixture.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace cubinet {
namespace {

using test::ok;
using namespace test::gpu;

// A batch in one launch: two chunks, sequences without query tokens, a verification of a few
// tokens, and decode rows. More sequences than a warp has lanes.
struct MixedBatch {
  AttentionProblem problem;
  std::vector<std::int32_t> q_lengths;
  std::vector<std::int32_t> kv_lengths;
};

MixedBatch mixed_batch(std::uint32_t head_dim, std::uint32_t group, std::uint32_t page_size = 16) {
  MixedBatch batch;
  for (std::int32_t i = 0; i < 40; ++i) {
    const bool is_chunk = i == 3 || i == 35;
    batch.q_lengths.push_back(is_chunk ? 330 - i : i == 17 ? 5 : i % 9 == 4 ? 0 : 1);
    batch.kv_lengths.push_back(is_chunk ? 900 - i : i % 9 == 4 ? i % 2 * 70 : 37 * i + 1);
  }
  AttentionProblem& problem = batch.problem;
  problem.prefill = problem.ragged_q = problem.lse = true;
  problem.batch = static_cast<std::uint32_t>(batch.q_lengths.size());
  problem.q_len = 340;
  problem.kv_len = 1500;
  problem.heads_kv = 2;
  problem.heads_q = 2 * group;
  problem.head_dim_qk = head_dim;
  problem.head_dim_v = head_dim == 192 ? 128 : head_dim;
  problem.tokens_per_page = page_size;
  return batch;
}

AttentionInputs mixed_inputs(const MixedBatch& batch) {
  return ok(make_attention_inputs(batch.problem, batch.kv_lengths, 35, 0, batch.q_lengths));
}

// `splits` 0: as planned.
void check_mixed(const Gpu& gpu, const MixedBatch& batch, const std::vector<KernelSpec>& kernels,
                 std::uint32_t splits = 0) {
  AttentionInputs inputs = mixed_inputs(batch);
  const AttentionOutputs reference = ok(attention_reference(batch.problem, inputs));
  pad_page_table(batch.problem, inputs);
  for (const KernelSpec& kernel : kernels) {
    CAPTURE(kernel.to_string());
    const Outputs outputs = decode(gpu, bind(gpu, batch.problem, splits, true, kernel), inputs);
    compare(batch.problem, reference, outputs.o, outputs.lse, limits_of(batch.problem, kernel.name));
  }
}

// Returns the sequences [begin, end) of a batch, over the same pages.
AttentionInputs mixed_part(const MixedBatch& batch, const AttentionInputs& all, std::size_t begin,
                           std::size_t end) {
  AttentionInputs part = all;
  const auto take = [](auto& numbers, std::size_t first, std::size_t last) {
    numbers.erase(numbers.begin() + static_cast<std::ptrdiff_t>(last), numbers.end());
    numbers.erase(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(first));
  };
  const auto token = [&](std::size_t sequence) {
    return static_cast<std::size_t>(std::accumulate(
        all.q_lengths.begin(), all.q_lengths.begin() + static_cast<std::ptrdiff_t>(sequence), 0));
  };
  const std::size_t width = batch.problem.pages_per_sequence();
  const std::size_t row = std::size_t{batch.problem.heads_q} * batch.problem.head_dim_qk;
  take(part.kv_lengths, begin, end);
  take(part.q_lengths, begin, end);
  take(part.page_table, begin * width, end * width);
  take(part.q, token(begin) * row, token(end) * row);
  return part;
}

TEST_CASE("Mixed batches agree with float64 for every head dim, group and kernel") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const std::uint32_t head_dim : {64U, 96U, 128U, 192U, 256U}) {
    for (const std::uint32_t group : {1U, 4U, 7U, 8U}) {
      const MixedBatch batch = mixed_batch(head_dim, group);
      check_mixed(*gpu, batch, kernels_of(*gpu, batch.problem));
    }
  }
}

TEST_CASE("Mixed batches have windows, sinks, soft caps, dense masks and contiguous KV") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  MixedBatch batch = mixed_batch(128, 4, 64);
  batch.problem.window = 75;
  batch.problem.sinks = true;
  check_mixed(*gpu, batch, kernels_of(*gpu, batch.problem));
  batch.problem.soft_cap = 30.0;
  check_mixed(*gpu, batch, kernels_of(*gpu, batch.problem));
  batch = mixed_batch(128, 8, 64);
  batch.problem.mask = AttentionMask::dense;
  check_mixed(*gpu, batch, kernels_of(*gpu, batch.problem));
  batch.problem.layout = QkvLayout::separate_qkv;
  check_mixed(*gpu, batch, kernels_of(*gpu, batch.problem));
}

// Most tiles have no rows of the second warpgroup, which skips steps whose V is transposed.
TEST_CASE("Mixed batches of e4m3 agree with float64, also with splits, windows and contiguous KV") {
  const auto gpu = hopper();
  if (!gpu) return;
  for (const std::uint32_t head_dim : {64U, 128U}) {
    for (const std::uint32_t group : {1U, 4U, 8U}) {
      MixedBatch batch = mixed_batch(head_dim, group);
      AttentionProblem& problem = batch.problem;
      problem.data_type_q = problem.data_type_k = problem.data_type_v = DataType::e4m3;
      std::vector<KernelSpec> kernels = kernels_of(*gpu, problem);
      std::erase_if(kernels, [](const KernelSpec& kernel) { return kernel.name == "attention_prefill"; });
      CHECK(!kernels.empty());
      check_mixed(*gpu, batch, kernels);
      check_mixed(*gpu, batch, kernels, 3);
      problem.window = 75;
      problem.sinks = true;
      check_mixed(*gpu, batch, kernels_of(*gpu, problem));
      problem.soft_cap = 30.0;
      check_mixed(*gpu, batch, kernels_of(*gpu, problem));
      problem.window = kUnlimited;
      problem.soft_cap.reset();
      problem.layout = QkvLayout::separate_qkv;
      check_mixed(*gpu, batch, kernels_of(*gpu, problem));
    }
  }
}

TEST_CASE("New rows of chunks and decode are appended by the run that attends to them") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  MixedBatch batch = mixed_batch(128, 4);
  batch.problem.append.emplace();
  batch.problem.append->rope_dim = 128;
  const AttentionInputs inputs = mixed_inputs(batch);
  const Outputs outputs = decode(*gpu, bind(*gpu, batch.problem), inputs);
  compare(batch.problem, inputs, outputs.o, outputs.lse);
}

TEST_CASE("Rows of a mixed batch have the bits that they have in batches of their own") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const auto& [group, type] :
       {std::pair{4U, DataType::bf16}, {8U, DataType::bf16}, {4U, DataType::e4m3}, {8U, DataType::e4m3}}) {
    MixedBatch batch = mixed_batch(128, group);
    batch.problem.data_type_q = batch.problem.data_type_k = batch.problem.data_type_v = type;
    if (group == 8) batch.problem.window = 130;
    const AttentionInputs inputs = mixed_inputs(batch);
    const std::size_t row_bytes = std::size_t{batch.problem.head_dim_v} * 2;
    for (const KernelSpec& kernel : kernels_of(*gpu, batch.problem)) {
      CAPTURE(kernel.to_string());
      const Outputs whole = decode(*gpu, bind(*gpu, batch.problem, 1, true, kernel), inputs);
      std::size_t row = 0;
      for (const auto& [begin, end] :
           {std::pair<std::size_t, std::size_t>{0, 3}, {3, 4}, {4, 35}, {35, 40}}) {
        MixedBatch own = batch;
        own.problem.batch = static_cast<std::uint32_t>(end - begin);
        const AttentionInputs part = mixed_part(batch, inputs, begin, end);
        // A bound of its own: decode rows alone have another tile than beside a chunk.
        own.problem.q_len = static_cast<std::uint32_t>(
            std::max(*std::max_element(part.q_lengths.begin(), part.q_lengths.end()), 1));
        const Outputs alone = decode(*gpu, bind(*gpu, own.problem, 1, true, kernel), part);
        CHECK(std::memcmp(alone.o.data(), whole.o.data() + row * row_bytes, alone.o.size()) == 0);
        CHECK(std::equal(alone.lse.begin(), alone.lse.end(),
                         whole.lse.begin() + static_cast<std::ptrdiff_t>(row)));
        row += alone.lse.size();
      }
      CHECK(row == whole.lse.size());
    }
  }
}

}  // namespace
}  // namespace cubinet
