// SPDX-License-Identifier: Apache-2.0
// Tests the results of prefill attention through plan, bind and run with the library's templates,
// over their parameters and the ways to run it. Needs a GPU and NVRTC.
#include "decode_gpu_fixture.hpp"

#include <cubinet/kernel_templates/template_catalog.hpp>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

namespace cubinet {
namespace {

using test::ok;
using namespace test::gpu;

// Returns 19 sequences with lengths on both sides of tiles and pages, and an empty one.
AttentionProblem prompts(std::uint32_t head_dim, std::uint32_t q_len, std::uint32_t page_size = 64) {
  AttentionProblem problem = many_borders(head_dim, page_size);
  problem.prefill = true;
  problem.q_len = q_len;
  problem.heads_q = 4;
  return problem;
}

// Checks every kernel that runs the problem: all families and tiles. `splits` 0: as planned;
// otherwise only kernels that have so many.
void check_every_kernel(const Gpu& gpu, const AttentionProblem& problem, std::uint32_t splits = 0) {
  std::vector<KernelSpec> kernels = kernels_of(gpu, problem);
  CHECK(!kernels.empty());
  if (splits > 0)
    std::erase_if(kernels, [](const KernelSpec& kernel) { return kernel.name == "attention_prefill"; });
  AttentionInputs inputs =
      ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::borders), 11));
  const AttentionOutputs reference = ok(attention_reference(problem, inputs));
  pad_page_table(problem, inputs);
  for (const KernelSpec& kernel : kernels) {
    CAPTURE(kernel.to_string());
    const Outputs outputs = decode(gpu, bind(gpu, problem, splits, true, kernel), inputs);
    compare(problem, reference, outputs.o, outputs.lse, limits_of(problem, kernel.name));
  }
}

TEST_CASE("Prefill attention agrees with float64 for every head dim, layout and tile") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const auto& [qk, v] : {std::pair{64U, 64U},
                              {72U, 72U},
                              {80U, 80U},
                              {88U, 88U},
                              {96U, 96U},
                              {128U, 128U},
                              {192U, 128U},
                              {256U, 256U},
                              {512U, 512U}}) {
    for (const QkvLayout layout : {QkvLayout::paged_kv, QkvLayout::contiguous_kv, QkvLayout::separate_qkv}) {
      AttentionProblem problem = prompts(qk, 130);
      problem.head_dim_v = v;
      problem.layout = layout;
      problem.lse = true;
      check_every_kernel(*gpu, problem);
    }
  }
}

TEST_CASE("Prefill over KV of e4m3 agrees with float64 for every type of Q and of the output") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  const DataType types_o[] = {DataType::bf16, DataType::fp16, DataType::fp32};
  std::size_t problems = 0;
  std::size_t first_type = 0;
  for (const DataType type_q : {DataType::bf16, DataType::fp16, DataType::e4m3}) {
    problems = first_type++;  // with another output for each type of Q
    for (const std::uint32_t head_dim : {64U, 72U, 80U, 88U, 96U, 128U, 192U, 256U, 512U}) {
      AttentionProblem problem = prompts(head_dim, 130);
      problem.head_dim_v = head_dim == 192 ? 128 : head_dim;
      problem.data_type_q = type_q;
      problem.data_type_k = problem.data_type_v = DataType::e4m3;
      problem.data_type_o = types_o[problems++ % std::size(types_o)];
      problem.layout = head_dim == 96 ? QkvLayout::separate_qkv : QkvLayout::paged_kv;
      problem.lse = true;
      check_every_kernel(*gpu, problem);
    }
  }
}

AttentionProblem narrow_prompts(std::uint32_t head_dim, std::uint32_t q_len, std::uint32_t page_size = 64) {
  AttentionProblem problem = prompts(head_dim, q_len, page_size);
  problem.data_type_q = problem.data_type_k = problem.data_type_v = DataType::e4m3;
  return problem;
}

TEST_CASE("Warpgroups multiply e4m3 with every mask, cap, sink, scale, split and type of the output") {
  const auto gpu = hopper();
  if (!gpu) return;
  // Each kind of problem below comes with each head dim, and with some types of the output:
  // there are dozens of kernels to compile.
  std::uint32_t turn = 0;
  for (const std::uint32_t head_dim : {64U, 128U}) {
    for (const DataType output : {DataType::bf16, DataType::fp16, DataType::fp32, DataType::e4m3}) {
      AttentionProblem problem = narrow_prompts(head_dim, 150);
      problem.data_type_o = output;
      problem.lse = true;
      problem.output_scale = 0.375;
      problem.scales_on_device = output == DataType::fp32;
      problem.ragged_q = output == DataType::fp16;
      check_every_kernel(*gpu, problem, 1);
      check_every_kernel(*gpu, problem, 3);
      const std::uint32_t kind = turn++ % 3;
      if (kind == 0) {
        problem.window = 75;
        check_every_kernel(*gpu, problem, 2);
      } else if (kind == 1) {
        problem.window = 75;
        problem.soft_cap = 30.0;
        problem.sinks = true;
        check_every_kernel(*gpu, problem, 1);
      } else {
        problem.mask = AttentionMask::dense;
        problem.layout = QkvLayout::contiguous_kv;
        check_every_kernel(*gpu, problem, 1);
      }
    }
  }
}

TEST_CASE("Pages of e4m3 of any multiple of eight tokens are read, in both orders") {
  const auto gpu = hopper();
  if (!gpu) return;
  for (const std::uint32_t page_size : {8U, 16U, 24U, 40U, 64U, 136U, 256U}) {
    for (const KvOrder order : {KvOrder::nhd, KvOrder::hnd}) {
      for (const std::uint32_t head_dim : {64U, 128U}) {
        AttentionProblem problem = narrow_prompts(head_dim, 70, page_size);
        problem.kv_order = order;
        problem.separate_page_tables = page_size % 16 != 0;
        check_every_kernel(*gpu, problem, 1);
      }
    }
  }
}

// All of V is 1, so the output is, too. Without folds, each of 4,096 sums of products would be cut
// to 14 bits, and always downwards: a large part of the output would be lost.
TEST_CASE("Sums of e4m3 products over 131072 tokens are folded") {
  const auto gpu = hopper();
  if (!gpu) return;
  constexpr std::uint16_t kOne = 0x38;  // of e4m3
  for (const std::uint32_t head_dim : {64U, 128U}) {
    AttentionProblem problem = narrow_prompts(head_dim, 64);
    problem.batch = problem.heads_q = problem.heads_kv = 1;
    problem.kv_len = 131072;
    problem.lse = true;
    AttentionInputs inputs = ok(make_attention_inputs(problem, {131072}, 11));
    std::fill(inputs.v.begin(), inputs.v.end(), kOne);
    const AttentionOutputs reference = ok(attention_reference(problem, inputs));
    for (const KernelSpec& kernel : kernels_of(*gpu, problem)) {
      if (kernel.name != "attention_prefill_wgmma") continue;
      if (kernel.parameters.at("fold_steps") != ParameterValue(4)) continue;  // used only by name
      CAPTURE(kernel.to_string());
      const Outputs outputs = decode(*gpu, bind(*gpu, problem, 1, true, kernel), inputs);
      compare(problem, reference, outputs.o, outputs.lse, {.row = 2e-2, .lse = 1.2e-2});
    }
  }
}

TEST_CASE("Pages of any multiple of eight tokens are read, in both orders and by tables of their own") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const std::uint32_t page_size : {8U, 16U, 24U, 40U, 56U, 64U, 72U, 128U, 136U, 256U}) {
    for (const KvOrder order : {KvOrder::nhd, KvOrder::hnd}) {
      for (const std::uint32_t head_dim : {80U, 128U}) {
        AttentionProblem problem = prompts(head_dim, 70, page_size);
        problem.kv_order = order;
        problem.separate_page_tables = page_size % 16 != 0;
        check_every_kernel(*gpu, problem);
      }
    }
  }
}

TEST_CASE("Query tokens of every number are aligned with the last token, causal, windowed and dense") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const std::uint32_t q_len : {1U, 2U, 7U, 15U, 16U, 17U, 63U, 64U, 65U, 127U, 128U, 129U, 700U}) {
    AttentionProblem problem = prompts(64, q_len);
    problem.heads_q = problem.heads_kv = 2;
    check_every_kernel(*gpu, problem);
    problem.window = 75;
    check_every_kernel(*gpu, problem);
    problem.window = kUnlimited;
    problem.mask = AttentionMask::dense;
    check_every_kernel(*gpu, problem);
    problem.kv_len = 100;  // fewer tokens than queries
    check_every_kernel(*gpu, problem);
  }
}

TEST_CASE("Groups of any number of heads share a tile") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const std::uint32_t group : {1U, 5U, 7U, 8U, 16U, 65U}) {
    AttentionProblem problem = prompts(128, 37);
    problem.heads_kv = 3;
    problem.heads_q = 3 * group;
    check_every_kernel(*gpu, problem);
  }
}

TEST_CASE("Sequences of prefill may have fewer query tokens than the longest, in every layout") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const QkvLayout layout : {QkvLayout::paged_kv, QkvLayout::contiguous_kv, QkvLayout::separate_qkv}) {
    for (const std::uint32_t q_len : {3U, 300U}) {
      AttentionProblem problem = prompts(128, q_len);
      problem.layout = layout;
      problem.ragged_q = problem.lse = true;
      check_every_kernel(*gpu, problem);
    }
  }
}

TEST_CASE("Prefill has sinks, soft caps, windows, scales of both places and outputs of every type") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const DataType type : {DataType::bf16, DataType::fp16}) {
    for (const DataType output : {DataType::bf16, DataType::fp16, DataType::fp32}) {
      AttentionProblem problem = prompts(128, 90);
      problem.data_type_q = problem.data_type_k = problem.data_type_v = type;
      problem.data_type_o = output;
      problem.lse = true;
      problem.softmax_scale = 0.1;
      problem.output_scale = 0.375;
      problem.scales_on_device = output == DataType::fp32;
      problem.window = 128;
      problem.soft_cap = 30.0;
      problem.sinks = output != DataType::fp16;  // a sink may reduce a row below fp16's smallest numbers
      check_every_kernel(*gpu, problem);
    }
  }
}

TEST_CASE("More sequences than a warp has lanes are all found, whatever their lengths") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const std::uint32_t batch : {31U, 32U, 33U, 100U}) {
    AttentionProblem problem = prompts(64, 90);
    problem.batch = batch;
    problem.heads_q = problem.heads_kv = 1;
    problem.ragged_q = problem.lse = true;
    check_every_kernel(*gpu, problem);
  }
}

TEST_CASE("Generation of too many rows, and of pages that decode has no kernel for, is computed as prefill") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  AttentionProblem many = prompts(128, 300);
  many.prefill = false;
  many.heads_q = 16;
  check_against_reference(*gpu, many);
  AttentionProblem odd = prompts(128, 1, 24);
  odd.prefill = false;
  check_against_reference(*gpu, odd);
}

TEST_CASE("Generation of 33 to 64 rows, of which one warpgroup has none, agrees with float64 in warpgroups") {
  const auto gpu = hopper();
  if (!gpu) return;
  struct Rows {
    std::uint32_t q_len, heads_q;
  };
  for (const std::uint32_t head_dim : {64U, 128U}) {
    for (const Rows& rows : {Rows{1, 33}, Rows{3, 16}, Rows{16, 4}}) {
      AttentionProblem problem = many_borders(head_dim, 16);
      problem.batch = 150;
      problem.q_len = rows.q_len;
      problem.heads_q = rows.heads_q;
      problem.heads_kv = 1;
      problem.lse = true;
      const std::vector<KernelSpec> kernels = kernels_of(*gpu, problem);
      const auto found = std::find_if(kernels.begin(), kernels.end(), [](const KernelSpec& kernel) {
        return kernel.name == "attention_prefill_wgmma";
      });
      REQUIRE(found != kernels.end());
      check_against_reference(*gpu, problem, 0, *found);
    }
  }
}

TEST_CASE("New rows are appended before prefill attends to them") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  AttentionProblem problem = prompts(128, 40);
  problem.append.emplace();
  problem.append->rope_dim = 128;
  check_against_reference(*gpu, problem);
}

TEST_CASE("Splits of KV are combined, whatever rows, masks, windows and lengths they meet") {
  const auto gpu = hopper();
  if (!gpu) return;
  for (const std::uint32_t head_dim : {64U, 72U, 96U, 128U, 192U, 256U}) {
    for (const std::uint32_t splits : {2U, 3U, 6U}) {
      AttentionProblem problem = prompts(head_dim, 150);
      if (head_dim == 192) problem.head_dim_v = 128;
      problem.lse = true;
      problem.ragged_q = splits == 3;
      check_every_kernel(*gpu, problem, splits);
      problem.window = 75;
      problem.sinks = true;
      check_every_kernel(*gpu, problem, splits);
      problem.window = kUnlimited;
      problem.mask = AttentionMask::dense;
      problem.data_type_o = DataType::fp32;
      problem.layout = QkvLayout::contiguous_kv;
      check_every_kernel(*gpu, problem, splits);
    }
  }
  AttentionProblem groups = prompts(128, 37);
  groups.heads_kv = 3;
  groups.heads_q = 21;
  groups.kv_len = 5000;
  groups.scales_on_device = true;
  check_every_kernel(*gpu, groups, 7);
}

TEST_CASE("A graph of prefill serves all lengths and offsets up to its bounds") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  AttentionProblem problem = prompts(128, 200);
  problem.batch = 3;
  problem.ragged_q = true;
  std::vector<std::pair<KernelSpec, std::uint32_t>> ways;
  for (const KernelSpec& kernel : kernels_of(*gpu, problem)) {
    ways.emplace_back(kernel, 0);
    if (kernel.name != "attention_prefill") ways.emplace_back(kernel, 3);
  }
  for (const auto& [kernel, splits] : ways) {
    const BoundAttention attention = bind(*gpu, problem, splits, true, kernel);
    const auto longest = static_cast<std::int32_t>(problem.kv_len);
    AttentionInputs inputs = ok(make_attention_inputs(problem, {longest, longest, longest}, 11));
    const auto tokens = std::accumulate(inputs.q_lengths.begin(), inputs.q_lengths.end(), 0);
    const TensorBuffers buffers = upload(*gpu, attention, inputs);
    DeviceBuffer offsets = ok(DeviceBuffer::allocate(gpu->device, 4 * sizeof(std::int32_t)));
    AttentionTensors tensors = buffers.tensors();
    tensors.q_offsets = offsets;
    const Stream stream = ok(Stream::create(gpu->device));
    const Graph graph = ok(Graph::capture(stream, [&] { return attention.run(tensors, stream.handle()); }));
    for (const std::vector<std::int32_t>& lengths :
         {std::vector<std::int32_t>{1, 0, 64}, {65, 129, 3}, {longest, 640, 641}}) {
      // All rows are divided anew: the kernel gives each sequence its rows by the offsets alone.
      inputs.q_lengths = {std::min(tokens / 3, 200), 0, 0};
      inputs.q_lengths[1] = std::min(tokens - inputs.q_lengths[0], 200);
      inputs.q_lengths[2] = tokens - inputs.q_lengths[0] - inputs.q_lengths[1];
      inputs.kv_lengths = lengths;
      std::vector<std::int32_t> sums(4);
      std::partial_sum(inputs.q_lengths.begin(), inputs.q_lengths.end(), sums.begin() + 1);
      ok(offsets.copy_from(sums));
      ok(buffers.set_kv_lengths(lengths));
      ok(buffers.poison(/*scratch=*/true));
      ok(graph.launch(stream));
      ok(stream.synchronize());
      compare(problem, inputs, ok(buffers.output()), ok(buffers.lse()));
    }
  }
}

TEST_CASE("Prefill reads and writes tensors with strides of their own") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  AttentionProblem problem = prompts(128, 60);
  problem.kv_order = KvOrder::hnd;
  const AttentionInputs inputs =
      ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::borders), 11));
  problem.kv_order = KvOrder::nhd;  // the plan's order; the tensors' strides override it
  for (const KernelSpec& kernel : kernels_of(*gpu, problem)) {
    const BoundAttention attention = bind(*gpu, problem, 0, true, kernel);
    const TensorBuffers buffers = upload(*gpu, attention, inputs);
    AttentionTensors tensors = buffers.tensors();
    tensors.k.strides = tensors.v.strides = {2 * 64 * 128, 128, 64 * 128};
    const Stream stream = ok(Stream::create(gpu->device));
    ok(attention.run(tensors, stream.handle()));
    ok(stream.synchronize());
    AttentionProblem by_head = problem;
    by_head.kv_order = KvOrder::hnd;
    compare(by_head, inputs, ok(buffers.output()), ok(buffers.lse()));
  }
}

}  // namespace
}  // namespace cubinet
