// SPDX-License-Identifier: Apache-2.0
// Attention over K and V of e4m3 that have scales of KV heads. The scales of the inputs are random,
// and NaN follows those of each sequence. Needs a GPU and NVRTC.
#include "decode_gpu_fixture.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

namespace cubinet {
namespace {

using test::ok;
using namespace test::gpu;

constexpr KvScales kBoth[] = {KvScales::head, KvScales::sequence};

// Returns a problem with three KV heads and lengths on both sides of slices, pages and tiles.
AttentionProblem scaled_problem(std::uint32_t head_dim, std::uint32_t q_len, DataType q = DataType::bf16) {
  AttentionProblem problem = many_borders(head_dim, 64);
  problem.heads_q = 24;
  problem.heads_kv = 3;
  problem.q_len = q_len;
  problem.data_type_q = q;
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  problem.lse = true;
  return problem;
}

AttentionProblem scaled_latent(std::uint32_t heads, DataType q = DataType::bf16) {
  AttentionProblem problem = scaled_problem(512, 1, q);
  problem.head_dim_qk = 576;
  problem.heads_q = heads;
  problem.heads_kv = 1;
  return problem;
}

// Checks the first kernel of each template that runs the problem, with both kinds of scales.
void check_each_template(const Gpu& gpu, AttentionProblem problem, std::uint32_t splits = 0) {
  std::set<std::string> checked;
  for (const KernelSpec& kernel : kernels_of(gpu, problem)) {
    if (!checked.insert(kernel.name).second) continue;
    for (const KvScales scales : kBoth) {
      problem.kv_scales = scales;
      check_against_reference(gpu, problem, splits, kernel);
    }
  }
  CHECK_FALSE(checked.empty());
}

TEST_CASE("Scales of KV heads multiply logits and output of decode, for every number of query tokens") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const std::uint32_t q_len : {1U, 4U, 16U}) {
    for (const std::uint32_t splits : {1U, 3U})
      check_each_template(*gpu, scaled_problem(128, q_len), splits);
  }
  for (const std::uint32_t head_dim : {64U, 256U, 512U})
    check_each_template(*gpu, scaled_problem(head_dim, 3), 3);
  for (const DataType q : {DataType::fp16, DataType::e4m3})
    check_each_template(*gpu, scaled_problem(128, 4, q), 3);
}

TEST_CASE(
    "Scales of KV heads apply before sinks, soft caps, windows and masks, beside scales of the device") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  const auto check = [&](std::uint32_t q_len, auto change) {
    AttentionProblem problem = scaled_problem(128, q_len);
    change(problem);
    check_each_template(*gpu, problem, 3);
  };
  using P = AttentionProblem;
  check(1, [](P& p) { p.sinks = true, p.soft_cap = 5; });
  check(5, [](P& p) { p.sinks = true, p.window = 90, p.ragged_q = true; });
  check(8, [](P& p) { p.mask = AttentionMask::custom, p.tokens_per_page = 16; });
  check(2, [](P& p) { p.scales_on_device = true, p.softmax_scale = 0.03, p.output_scale = 0.375; });
  check(1, [](P& p) { p.data_type_o = DataType::fp32, p.kv_order = KvOrder::hnd; });
}

// The counters of a batch that blocks share tile by tile, and the kernel that combines apart.
TEST_CASE("Partial results of one long sequence are scaled once") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  AttentionProblem problem = scaled_problem(128, 1);
  problem.batch = 1;
  problem.kv_len = 20000;
  for (const KvScales scales : kBoth) {
    problem.kv_scales = scales;
    for (const std::uint32_t splits : {0U, 2U, 16U})
      check_against_reference(*gpu, problem, splits);
  }
}

TEST_CASE("The one KV head of latent attention has a scale, of all sequences or of each") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const std::uint32_t heads : {8U, 16U, 64U, 128U}) {
    for (const std::uint32_t splits : {1U, 3U})
      check_each_template(*gpu, scaled_latent(heads), splits);
  }
  check_each_template(*gpu, scaled_latent(16, DataType::e4m3), 2);
  check_each_template(*gpu, scaled_latent(64, DataType::e4m3), 2);
}

TEST_CASE("Scales of KV heads multiply logits and output of prompts in every layout, split or not") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const DataType q : {DataType::bf16, DataType::e4m3}) {
    for (const std::uint32_t head_dim : {64U, 128U}) {
      for (const QkvLayout layout :
           {QkvLayout::paged_kv, QkvLayout::contiguous_kv, QkvLayout::separate_qkv}) {
        AttentionProblem problem = scaled_problem(head_dim, 150, q);
        problem.prefill = true;
        problem.heads_q = 6;
        problem.layout = layout;
        problem.ragged_q = layout != QkvLayout::contiguous_kv;
        problem.sinks = layout == QkvLayout::paged_kv;
        check_each_template(*gpu, problem);
      }
    }
  }
  AttentionProblem problem = scaled_problem(128, 150, DataType::e4m3);
  problem.prefill = true;
  for (const std::uint32_t group : {2U, 5U}) {
    problem.heads_q = 3 * group;
    for (const KvScales scales : kBoth) {
      problem.kv_scales = scales;
      for (const KernelSpec& kernel : kernels_of(*gpu, problem)) {
        if (kernel.name == "attention_prefill_wgmma" &&
            kernel.parameters.at("fold_steps") == ParameterValue(4))
          check_against_reference(*gpu, problem, 3, kernel);
      }
    }
  }
}

TEST_CASE("Chunks and decode rows of one launch have the scales of their sequences") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const DataType q : {DataType::bf16, DataType::e4m3}) {
    AttentionProblem problem = scaled_problem(128, 170, q);
    problem.prefill = problem.ragged_q = true;
    problem.kv_scales = KvScales::sequence;
    problem.batch = 6;
    problem.kv_len = 900;
    const AttentionInputs inputs =
        ok(make_attention_inputs(problem, {900, 333, 0, 64, 170, 65}, 5, 0, {170, 1, 0, 1, 170, 4}));
    const BoundAttention attention = bind(*gpu, problem);
    const Outputs outputs = decode(*gpu, attention, inputs);
    compare(problem, inputs, outputs.o, outputs.lse,
            limits_of(problem, std::get<KernelSpec>(attention.plan().steps.front().kernel).name));
  }
}

// Returns the bits of the rows of one KV head of one sequence. REQUIRES: no ragged queries.
std::vector<std::byte> rows_of_head(const AttentionProblem& problem, const Outputs& outputs,
                                    std::uint32_t sequence, std::uint32_t head_kv) {
  std::vector<std::byte> rows;
  const std::size_t row_bytes = std::size_t{problem.head_dim_v} * bits_of(problem.data_type_o) / 8;
  const std::size_t head_bytes = row_bytes * problem.group_size();
  for (std::uint32_t token = 0; token < problem.q_len; ++token) {
    const std::size_t first = (std::size_t{sequence} * problem.q_len + token) * problem.heads_kv + head_kv;
    const auto begin = outputs.o.begin() + static_cast<std::ptrdiff_t>(first * head_bytes);
    rows.insert(rows.end(), begin, begin + static_cast<std::ptrdiff_t>(head_bytes));
  }
  return rows;
}

TEST_CASE("Scales of 1 change no bit, and a scale that is no number only the rows of its KV head") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const bool prefill : {false, true}) {
    AttentionProblem plain = scaled_problem(128, 4, DataType::e4m3);
    plain.batch = 3;
    plain.prefill = prefill;
    AttentionProblem problem = plain;
    problem.kv_scales = KvScales::sequence;
    AttentionInputs inputs = ok(make_attention_inputs(problem, {700, 65, 400}, 7));
    std::fill(inputs.k_head_scales.begin(), inputs.k_head_scales.end(), 1.0F);
    std::fill(inputs.v_head_scales.begin(), inputs.v_head_scales.end(), 1.0F);
    const BoundAttention attention = bind(*gpu, problem, 2);
    const Outputs ones = decode(*gpu, attention, inputs);
    AttentionInputs unscaled = inputs;
    unscaled.k_head_scales.clear();
    unscaled.v_head_scales.clear();
    const Outputs without = decode(*gpu, bind(*gpu, plain, 2), unscaled);
    CHECK(ones.o == without.o);
    CHECK(ones.lse == without.lse);
    constexpr std::uint32_t kSequence = 1;
    constexpr std::uint32_t kHead = 2;
    for (std::vector<float> AttentionInputs::*scales :
         {&AttentionInputs::k_head_scales, &AttentionInputs::v_head_scales}) {
      AttentionInputs changed = inputs;
      (changed.*scales)[kSequence * problem.heads_kv + kHead] = std::numeric_limits<float>::quiet_NaN();
      const Outputs outputs = decode(*gpu, attention, changed);
      for (std::uint32_t sequence = 0; sequence < problem.batch; ++sequence) {
        for (std::uint32_t head = 0; head < problem.heads_kv; ++head) {
          const bool is_changed = sequence == kSequence && head == kHead;
          CHECK((rows_of_head(problem, outputs, sequence, head) ==
                 rows_of_head(problem, ones, sequence, head)) != is_changed);
        }
      }
    }
  }
}

TEST_CASE("One graph reads new scales of KV heads in every launch") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  AttentionProblem problem = scaled_problem(128, 1);
  problem.kv_scales = KvScales::head;
  const BoundAttention attention = bind(*gpu, problem, 3);
  AttentionInputs inputs =
      ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::borders), 11));
  const TensorBuffers buffers = upload(*gpu, attention, inputs);
  DeviceBuffer k_scales = ok(DeviceBuffer::copy_of(gpu->device, inputs.k_head_scales));
  AttentionTensors tensors = buffers.tensors();
  tensors.k_head_scales = k_scales;
  const Stream stream = ok(Stream::create(gpu->device));
  const Graph graph = ok(Graph::capture(stream, [&] { return attention.run(tensors, stream.handle()); }));
  for (const float factor : {1.0F, 0.5F}) {
    for (float& scale : inputs.k_head_scales)
      scale *= factor;
    ok(k_scales.copy_from(inputs.k_head_scales));
    ok(graph.launch(stream));
    ok(stream.synchronize());
    compare(problem, inputs, ok(buffers.output()), ok(buffers.lse()));
  }
}

}  // namespace
}  // namespace cubinet
