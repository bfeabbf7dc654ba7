// SPDX-License-Identifier: Apache-2.0
// Tests the results of attention through plan, bind and run with the library's templates, over
// their parameters and the ways to run it. Needs a GPU and NVRTC.
#include "decode_gpu_fixture.hpp"

#include <cmath>
#include <cstring>
#include <future>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace cubinet {
namespace {

using test::ok;
using namespace test::gpu;

TEST_CASE("Decode attention agrees with float64 for every head dim and page size, split or not") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const std::uint32_t head_dim : {64U, 128U, 256U}) {
    for (const std::uint32_t page_size : {8U, 16U, 32U, 64U, 128U, 256U}) {
      for (const std::uint32_t splits : {1U, 3U})
        check_against_reference(*gpu, many_borders(head_dim, page_size), splits);
    }
  }
  check_against_reference(*gpu, many_borders(128, 64), 40);  // more splits than a sequence has tiles
}

TEST_CASE("Head dims of Q K and of V need not be alike") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const auto& [qk, v] : {std::pair{256U, 128U}, std::pair{64U, 256U}, std::pair{128U, 64U}}) {
    AttentionProblem problem = many_borders(qk, 64);
    problem.head_dim_v = v;
    check_against_reference(*gpu, problem, 2);
  }
}

TEST_CASE("KV of eight bits agrees under every type of Q and of the output, head dim, tile and page size") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const DataType q : {DataType::bf16, DataType::fp16, DataType::e4m3}) {
    for (const std::uint32_t head_dim : {64U, 128U, 256U}) {
      for (const std::uint32_t q_len : {1U, 4U, 7U}) {
        AttentionProblem problem = many_borders(head_dim, q_len == 7 ? 16 : 64);
        problem.data_type_q = q;
        problem.data_type_k = problem.data_type_v = DataType::e4m3;
        problem.data_type_o = q == DataType::fp16 ? DataType::fp32 : q;
        problem.q_len = q_len;
        if (q_len == 4) problem.kv_order = KvOrder::hnd;
        check_against_reference(*gpu, problem, q_len == 1 ? 3 : 0);
      }
    }
  }
}

TEST_CASE("Sequences may have fewer query tokens than the longest, in every tile, split or not") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const std::uint32_t q_len : {2U, 4U, 8U, 16U}) {
    for (const std::uint32_t splits : {1U, 3U}) {
      AttentionProblem problem = many_borders(128, q_len == 8 ? 16 : 64);
      problem.q_len = q_len;
      problem.ragged_q = true;
      problem.lse = true;
      check_against_reference(*gpu, problem, splits);
    }
  }
}

TEST_CASE("Sinks count once in the sum and the log sum exp, and scales are taken from both places") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const std::uint32_t splits : {1U, 3U}) {
    for (const bool on_device : {false, true}) {
      AttentionProblem problem = many_borders(64, 32);
      problem.sinks = true;
      problem.window = 100;
      problem.softmax_scale = 0.2;
      problem.output_scale = 0.375;
      problem.scales_on_device = on_device;
      check_against_reference(*gpu, problem, splits);
      problem.data_type_k = problem.data_type_v = problem.data_type_o = DataType::e4m3;
      check_against_reference(*gpu, problem, splits);
    }
  }
}

TEST_CASE(
    "A soft cap bounds logits as closely as the reference does, split or not, and of every type of KV") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const double cap : {3.0, 50.0}) {
    for (const std::uint32_t splits : {1U, 3U}) {
      AttentionProblem problem = many_borders(128, 64);
      problem.soft_cap = cap;
      problem.sinks = true;
      check_against_reference(*gpu, problem, splits);
      problem.scales_on_device = true;
      problem.data_type_k = problem.data_type_v = DataType::e4m3;
      problem.q_len = 5;
      check_against_reference(*gpu, problem, splits);
    }
  }
}

TEST_CASE("A packed mask decides among the query tokens, with a window and without, ragged or not") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const std::uint32_t q_len : {1U, 8U, 37U}) {
    for (const std::uint32_t window : {kUnlimited, 90U}) {
      for (const bool ragged : {false, true}) {
        AttentionProblem problem = many_borders(q_len == 8 ? 256 : 128, 16);
        problem.q_len = q_len;
        problem.mask = AttentionMask::custom;
        problem.window = window;
        problem.ragged_q = ragged;
        for (const std::uint32_t splits : {1U, 3U})
          check_against_reference(*gpu, problem, splits);
      }
    }
  }
}

TEST_CASE("K and V are looked up by page tables of their own, of pages smaller and larger than a slice") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const std::uint32_t page_size : {8U, 16U, 64U}) {
    for (const std::uint32_t q_len : {1U, 8U}) {
      AttentionProblem problem = many_borders(128, page_size);
      problem.separate_page_tables = true;
      problem.q_len = q_len;
      for (const std::uint32_t splits : {1U, 3U})
        check_against_reference(*gpu, problem, splits);
    }
  }
}

TEST_CASE("Both input types, all output types and both layouts agree") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const DataType type : {DataType::bf16, DataType::fp16}) {
    for (const DataType output : {DataType::bf16, DataType::fp16, DataType::fp32}) {
      AttentionProblem problem = many_borders(128, 32);
      problem.data_type_q = problem.data_type_k = problem.data_type_v = type;
      problem.data_type_o = output;
      problem.kv_order = output == DataType::fp32 ? KvOrder::hnd : KvOrder::nhd;
      for (const std::uint32_t splits : {1U, 2U})
        check_against_reference(*gpu, problem, splits);
    }
  }
}

TEST_CASE("Several query tokens, causal or dense, fill tiles of every size and more than one") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const std::uint32_t q_len : {2U, 3U, 4U, 8U, 13U}) {
    for (const AttentionMask mask : {AttentionMask::causal, AttentionMask::dense}) {
      AttentionProblem problem = many_borders(q_len == 13 ? 256 : 128, 64);
      problem.q_len = q_len;
      problem.mask = mask;
      for (const std::uint32_t splits : {1U, 3U})
        check_against_reference(*gpu, problem, splits);
    }
  }
}

TEST_CASE(
    "Groups of one head, of a number that does not divide the tile, and of more heads than it has rows") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const auto& [heads_q, heads_kv] : {std::pair{4U, 4U}, std::pair{15U, 3U}, std::pair{71U, 1U}}) {
    AttentionProblem problem = many_borders(64, 16);
    problem.heads_q = heads_q;
    problem.heads_kv = heads_kv;
    check_against_reference(*gpu, problem);
  }
}

TEST_CASE("A window hides older tokens, whose pages are never read") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const std::uint32_t window : {1U, 16U, 37U, 300U}) {
    for (const std::uint32_t q_len : {1U, 7U}) {
      AttentionProblem problem = many_borders(128, 16);
      problem.window = window;
      problem.q_len = q_len;
      for (const std::uint32_t splits : {1U, 3U})
        check_against_reference(*gpu, problem, splits);
    }
  }
}

TEST_CASE("A plan for one long sequence, and one for known uneven lengths, agree") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  AttentionProblem problem = many_borders(128, 64);
  problem.batch = 1;
  problem.kv_len = 20000;
  check_against_reference(*gpu, problem);
  problem.batch = 6;
  problem.kv_lengths = make_kv_lengths(problem, LengthPattern::borders);
  check_against_reference(*gpu, problem);
}

TEST_CASE(
    "Lengths that the plan does not know, one of them far above the others, agree and leave the counters") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const std::uint32_t batch : {5U, 40U, 70U}) {
    AttentionProblem problem = many_borders(128, 16);
    problem.batch = batch;
    problem.kv_len = 9000;
    problem.ragged_q = batch == 40;
    problem.q_len = batch == 40 ? 20 : 1;  // a sequence with all its query tokens has two tiles
    const BoundAttention attention = bind(*gpu, problem);
    std::vector<std::int32_t> lengths(batch);
    for (std::size_t i = 0; i < lengths.size(); ++i)
      lengths[i] = static_cast<std::int32_t>(20 + i * 37 % 300);
    lengths[batch / 2] = 9000;
    const AttentionInputs inputs = ok(make_attention_inputs(problem, lengths, 11));
    const TensorBuffers buffers = upload(*gpu, attention, inputs);
    const Stream stream = ok(Stream::create(gpu->device));
    for (int run = 0; run < 2; ++run) {  // the second run finds the counters as the first left them
      ok(buffers.poison(/*scratch=*/true));
      ok(attention.run(buffers.tensors(), stream.handle()));
      ok(stream.synchronize());
      compare(problem, inputs, ok(buffers.output()), ok(buffers.lse()));
    }
  }
}

TEST_CASE("With splits of a fixed length a sequence has the same bits alone and in a batch") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  AttentionProblem problem = many_borders(128, 64);
  problem.batch = 30;
  problem.kv_len = 4000;
  PlanOptions options;
  options.split_tokens = 256;
  const DeviceProperties& device = gpu->device->properties();
  const auto bound = [&](const AttentionProblem& of) {
    const AttentionPlan plan = ok(
        plan_attention(of, {device.capability, device.multiprocessors, device.maximum_shared_bytes_per_block},
                       {}, ok(AttentionBackends::builtin()), options));
    return ok(BoundAttention::bind(*gpu->runtime, plan, 0));
  };
  std::vector<std::int32_t> lengths(problem.batch, 300);
  lengths[3] = 4000;
  lengths[7] = 0;
  lengths[29] = 2333;
  const AttentionInputs inputs = ok(make_attention_inputs(problem, lengths, 11));
  const Outputs together = decode(*gpu, bound(problem), inputs);
  compare(problem, inputs, together.o, together.lse);
  AttentionProblem alone = problem;
  alone.batch = 1;
  const BoundAttention attention = bound(alone);
  const std::size_t row_bytes = together.o.size() / problem.batch;
  const std::size_t pages = problem.pages_per_sequence();
  const std::size_t q_elements = inputs.q.size() / problem.batch;
  for (const std::size_t sequence : {std::size_t{3}, std::size_t{4}, std::size_t{29}}) {
    const auto part = [&](const auto& values, std::size_t size) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(sequence * size);
      return std::decay_t<decltype(values)>(begin, begin + static_cast<std::ptrdiff_t>(size));
    };
    AttentionInputs of_one = inputs;
    of_one.q = part(inputs.q, q_elements);
    of_one.page_table = part(inputs.page_table, pages);
    of_one.kv_lengths = part(inputs.kv_lengths, 1);
    CHECK(decode(*gpu, attention, of_one).o == part(together.o, row_bytes));
  }
}

TEST_CASE("An infinite value in the last token makes its element infinite and no other, split or not") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  AttentionProblem problem = many_borders(128, 64);
  problem.batch = problem.heads_kv = 1;
  problem.data_type_o = DataType::fp32;
  AttentionInputs inputs =
      ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::uniform), 11));
  inputs.q.assign(inputs.q.size(), 0);  // every token has the same weight
  constexpr std::size_t kElement = 5;
  const std::size_t last = problem.kv_len - 1;
  const std::size_t page_size = problem.tokens_per_page;
  const auto page = static_cast<std::size_t>(inputs.page_table[last / page_size]);
  const std::size_t row_elements = problem.head_dim_v;
  inputs.v[(page * page_size + last % page_size) * row_elements + kElement] =
      from_float(std::numeric_limits<float>::infinity(), problem.data_type_k);
  for (const std::uint32_t splits : {1U, 2U, 3U, 5U}) {
    CAPTURE(splits);
    const Outputs outputs = decode(*gpu, bind(*gpu, problem, splits), inputs);
    std::vector<float> o(outputs.o.size() / sizeof(float));
    std::memcpy(o.data(), outputs.o.data(), outputs.o.size());
    for (std::size_t i = 0; i < o.size(); ++i) {
      CAPTURE(i);
      REQUIRE(std::isfinite(o[i]) == (i % row_elements != kElement));
      if (!std::isfinite(o[i])) REQUIRE(o[i] == std::numeric_limits<float>::infinity());
    }
  }
}

TEST_CASE("The log sum exp of 131072 equal logits in one split stays exact to the rounding of a float") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  AttentionProblem problem;
  problem.heads_q = 16;
  problem.kv_len = 131072;
  problem.data_type_o = DataType::fp32;
  AttentionInputs inputs =
      ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::uniform), 11));
  // Every key is all ones, and the query of a head is one 8-bit number throughout, so the raw
  // logits are exact. The scaled logits are not: each head has another residue. A residue that a
  // slice left behind would add up over 2048 slices.
  inputs.k.assign(inputs.k.size(), from_float(1.0f, problem.data_type_k));
  const auto query_of = [](std::size_t head) { return 3.75f + static_cast<float>(head) / 64.0f; };
  const std::size_t elements = problem.head_dim_qk;
  for (std::size_t i = 0; i < inputs.q.size(); ++i)
    inputs.q[i] = from_float(query_of(i / elements), problem.data_type_q);

  const Outputs outputs = decode(*gpu, bind(*gpu, problem, 1), inputs);
  REQUIRE(outputs.lse.size() == problem.heads_q);
  for (std::size_t head = 0; head < outputs.lse.size(); ++head) {
    CAPTURE(head);
    const double logit =
        static_cast<double>(query_of(head)) * problem.head_dim_qk * problem.scale();  // 42 to 45
    CHECK(std::abs(outputs.lse[head] - (logit + std::log(problem.kv_len))) < 1e-4);
  }
}

TEST_CASE("Queries of zeros weigh all that they see alike, whatever the types") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const DataType kv : {DataType::bf16, DataType::e4m3}) {
    AttentionProblem problem = many_borders(128, 16);
    problem.data_type_k = problem.data_type_v = kv;
    problem.q_len = 4;
    AttentionInputs inputs =
        ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::borders), 11));
    inputs.q.assign(inputs.q.size(), 0);
    const Outputs outputs = decode(*gpu, bind(*gpu, problem, 2), inputs);
    compare(problem, inputs, outputs.o, outputs.lse);
  }
}

TEST_CASE("A graph of runs is replayed with other lengths, and the context need not be current") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const std::uint32_t splits : {1U, 4U}) {
    AttentionProblem problem = many_borders(128, 64);
    problem.batch = 3;
    const BoundAttention attention = bind(*gpu, problem, splits);
    const auto longest = static_cast<std::int32_t>(problem.kv_len);
    AttentionInputs inputs = ok(make_attention_inputs(problem, {longest, longest, longest}, 11));
    const TensorBuffers buffers = upload(*gpu, attention, inputs);
    const Stream stream = ok(Stream::create(gpu->device));
    const Graph graph =
        ok(Graph::capture(stream, [&] { return attention.run(buffers.tensors(), stream.handle()); }));
    for (const std::vector<std::int32_t>& lengths :
         {std::vector<std::int32_t>{1, 0, 64}, {65, 129, 3}, {longest, 640, 641}}) {
      inputs.kv_lengths = lengths;
      ok(buffers.set_kv_lengths(lengths));
      ok(buffers.poison(/*scratch=*/true));
      ok(graph.launch(stream));
      ok(stream.synchronize());
      compare(problem, inputs, ok(buffers.output()), ok(buffers.lse()));
    }
  }
}

TEST_CASE("Two threads run one bound attention at once, each with a stream and a workspace of its own") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  const AttentionProblem problem = many_borders(128, 64);
  const BoundAttention attention = bind(*gpu, problem, 4);
  const auto work = [&](std::uint64_t seed) -> Result<AttentionDeviation> {
    CUBINET_TRY_ASSIGN(
        const AttentionInputs inputs,
        make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::borders), seed));
    CUBINET_TRY_ASSIGN(const TensorBuffers buffers,
                       TensorBuffers::create(gpu->device, problem, inputs, attention.plan().workspace));
    CUBINET_TRY_ASSIGN(const Stream stream, Stream::create(gpu->device));
    for (int i = 0; i < 200; ++i)
      CUBINET_TRY(attention.run(buffers.tensors(), stream.handle()));
    CUBINET_TRY(stream.synchronize());
    CUBINET_TRY_ASSIGN(const AttentionOutputs reference, attention_reference(problem, inputs, 1));
    CUBINET_TRY_ASSIGN(const Bytes o, buffers.output());
    CUBINET_TRY_ASSIGN(const std::vector<float> lse, buffers.lse());
    return compare_attention(problem, reference, o, lse);
  };
  auto first = std::async(std::launch::async, work, 1);
  auto second = std::async(std::launch::async, work, 2);
  CHECK(ok(first.get()).worst_row < 1e-2);
  CHECK(ok(second.get()).worst_row < 1e-2);
}

TEST_CASE("Tensors with strides of their own are read and written where they lie") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  AttentionProblem problem = many_borders(128, 64);
  problem.kv_order = KvOrder::hnd;
  const AttentionInputs inputs =
      ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::borders), 11));
  problem.kv_order = KvOrder::nhd;  // the plan's order; the tensors' strides override it
  const BoundAttention attention = bind(*gpu, problem, 2);
  const TensorBuffers buffers = upload(*gpu, attention, inputs);
  AttentionTensors tensors = buffers.tensors();
  tensors.k.strides = tensors.v.strides = {2 * 64 * 128, 128, 64 * 128};
  const Stream stream = ok(Stream::create(gpu->device));
  ok(attention.run(tensors, stream.handle()));
  ok(stream.synchronize());
  problem.kv_order = KvOrder::hnd;
  compare(problem, inputs, ok(buffers.output()), ok(buffers.lse()));
}

}  // namespace
}  // namespace cubinet
