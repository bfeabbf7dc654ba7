// SPDX-License-Identifier: Apache-2.0
// Tests KV of e4m3 multiplied from registers, through plan, bind and run. Needs a GPU of 9.0 and
// NVRTC.
#include "decode_gpu_fixture.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace cubinet {
namespace {

using test::ok;
using namespace test::gpu;

// Returns a problem with 32, 48, 64, 96 or 128 rows per KV head.
AttentionProblem rows_of(std::uint32_t rows, std::uint32_t head_dim = 128, std::uint32_t page_size = 64) {
  AttentionProblem problem = many_borders(head_dim, page_size);
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  problem.lse = true;
  problem.q_len = rows / 8;
  return problem;
}

// Binds a named kernel, which the planner would not choose by itself.
BoundAttention bind_swapped(const Gpu& gpu, const AttentionProblem& problem, std::uint32_t tile,
                            std::uint32_t splits) {
  const DeviceProperties& properties = gpu.device->properties();
  const AttentionBackends backends = ok(AttentionBackends::builtin());
  const DeviceFacts facts{properties.capability, properties.multiprocessors,
                          properties.maximum_shared_bytes_per_block};
  PlanOptions options;
  options.targets = gpu.targets;
  options.splits = splits;
  KernelSpec spec =
      std::get<KernelSpec>(ok(plan_attention(problem, facts, {}, backends, options)).steps.front().kernel);
  spec.name = "attention_decode_swapped";
  // attention_decode, which plans prefer for small pages, has the parameter alone.
  spec.parameters.erase("numerics");
  spec.set("tile_size_q", tile).set("tile_size_kv", 64).set("stages", 2);
  options.kernel = spec;
  return ok(BoundAttention::bind(*gpu.runtime, ok(plan_attention(problem, facts, {}, backends, options)), 0));
}

void check_tile(const Gpu& gpu, const AttentionProblem& problem, std::uint32_t tile) {
  for (const std::uint32_t splits : {1U, 3U}) {
    CAPTURE(tile);
    CAPTURE(splits);
    const BoundAttention attention = bind_swapped(gpu, problem, tile, splits);
    CHECK(attention.plan().row.implementation == "attention_decode_swapped");
    const AttentionInputs inputs =
        ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::borders), 11));
    const Outputs outputs = decode(gpu, attention, inputs);
    compare(problem, inputs, outputs.o, outputs.lse);
  }
}

TEST_CASE(
    "KV from registers agrees with float64 for every tile, head dim, page size and type, split or not") {
  const auto gpu = hopper();
  if (!gpu) return;
  for (const std::uint32_t head_dim : {64U, 128U, 256U}) {
    for (const std::uint32_t tile : {32U, 48U, 64U, 96U}) {
      if (head_dim == 256 && tile > 32) continue;
      check_tile(*gpu, rows_of(64, head_dim), tile);
      check_tile(*gpu, rows_of(96, head_dim, 16), tile);
    }
    for (const std::uint32_t page_size : {8U, 32U, 128U, 256U})
      check_tile(*gpu, rows_of(32, head_dim, page_size), 32);
  }
  for (const auto& [q, o] : {std::pair{DataType::fp16, DataType::fp16},
                             {DataType::e4m3, DataType::bf16},
                             {DataType::bf16, DataType::fp32},
                             {DataType::bf16, DataType::e4m3}}) {
    AttentionProblem problem = rows_of(48);
    problem.data_type_q = q;
    problem.data_type_o = o;
    check_tile(*gpu, problem, 48);
    problem.head_dim_v = 64;
    check_tile(*gpu, problem, 96);
  }
}

TEST_CASE("KV from registers knows windows, masks, sinks, soft caps, page tables apart and ragged rows") {
  const auto gpu = hopper();
  if (!gpu) return;
  using P = AttentionProblem;
  for (const std::uint32_t tile : {48U, 96U}) {
    const auto check = [&](auto change) {
      AttentionProblem problem = rows_of(64);
      change(problem);
      check_tile(*gpu, problem, tile);
    };
    check([](P& p) { p.q_len = 5; });
    check([](P& p) { p.q_len = 13; });
    check([](P& p) { p.heads_q = 14, p.q_len = 9; });
    check([](P& p) { p.mask = AttentionMask::dense; });
    check([](P& p) { p.mask = AttentionMask::custom, p.window = 90, p.ragged_q = true; });
    check([](P& p) { p.mask = AttentionMask::custom, p.soft_cap = 30, p.tokens_per_page = 8; });
    check([](P& p) { p.window = 100, p.separate_page_tables = true; });
    check([](P& p) { p.window = 1; });
    check([](P& p) { p.soft_cap = 20; });
    check([](P& p) { p.sinks = true; });
    check([](P& p) { p.ragged_q = true, p.scales_on_device = true, p.output_scale = 3; });
  }
}

TEST_CASE("Tiles that the planner takes agree with float64, and repeat to the bit") {
  const auto gpu = hopper();
  if (!gpu) return;
  for (const std::uint32_t rows : {40U, 48U, 64U, 96U, 128U}) {
    const AttentionProblem problem = rows_of(rows);
    const BoundAttention attention = bind(*gpu, problem);
    CHECK(attention.plan().row.implementation == "attention_decode_swapped");
    const AttentionInputs inputs =
        ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::borders), rows));
    const Outputs first = decode(*gpu, attention, inputs);
    compare(problem, inputs, first.o, first.lse);
    for (int i = 0; i < 4; ++i)
      CHECK(decode(*gpu, attention, inputs).o == first.o);
  }
}

TEST_CASE("Queries of any size keep their digits beside KV of e4m3") {
  const auto gpu = hopper();
  if (!gpu) return;
  for (const auto& [type, exponent] :
       {std::pair{DataType::bf16, 40}, {DataType::bf16, -40}, {DataType::fp16, 6}, {DataType::fp16, -3}}) {
    AttentionProblem problem = rows_of(64);
    problem.data_type_q = type;
    // The queries of the inputs are larger by the same factor.
    problem.softmax_scale = std::ldexp(1.0 / std::sqrt(128.0), -exponent);
    check_against_reference(*gpu, problem, 3);
  }
}

// Returns the difference of two bf16 rows, relative to the row of `b`.
double difference(const Outputs& a, const Outputs& b, std::size_t row, std::size_t elements) {
  double apart = 0;
  double size = 0;
  for (std::size_t i = row * elements; i < (row + 1) * elements; ++i) {
    std::uint32_t bits[2] = {};
    float values[2];
    std::memcpy(reinterpret_cast<char*>(&bits[0]) + 2, a.o.data() + 2 * i, 2);
    std::memcpy(reinterpret_cast<char*>(&bits[1]) + 2, b.o.data() + 2 * i, 2);
    std::memcpy(values, bits, sizeof(values));
    apart += (values[0] - values[1]) * (values[0] - values[1]);
    size += values[1] * values[1];
  }
  return apart == 0 ? 0 : std::sqrt(apart / size);
}

TEST_CASE(
    "A query that is infinite, no number or a million times larger leaves the others of its tile alone") {
  const auto gpu = hopper();
  if (!gpu) return;
  const AttentionProblem problem = rows_of(64);
  const BoundAttention attention = bind(*gpu, problem);
  const AttentionInputs inputs =
      ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::borders), 3));
  const Outputs before = decode(*gpu, attention, inputs);
  constexpr std::size_t kRow = 5;
  // The bf16 values are both infinities, NaN and 2^20.
  for (const unsigned bits : {0x7f80U, 0xff80U, 0x7fc0U, 0x4980U}) {
    AttentionInputs changed = inputs;
    changed.q[kRow * problem.head_dim_qk + 7] = static_cast<std::uint16_t>(bits);
    const Outputs after = decode(*gpu, attention, changed);
    double worst = 0;
    for (std::size_t row = 0; row < after.lse.size(); ++row) {
      if (row != kRow) worst = std::max(worst, difference(after, before, row, problem.head_dim_v));
    }
    CHECK(worst <= (bits == 0x4980U ? 4e-3 : 0));
  }
}

TEST_CASE("Keys that are no numbers end, and only what sees them is no number") {
  const auto gpu = hopper();
  if (!gpu) return;
  AttentionProblem problem = rows_of(64);
  problem.batch = 2;
  const BoundAttention attention = bind(*gpu, problem, 2);
  AttentionInputs inputs =
      ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::borders), 3));
  const Outputs before = decode(*gpu, attention, inputs);
  // Only the first page of the first sequence changes.
  const std::size_t elements = std::size_t{problem.heads_kv} * problem.tokens_per_page * problem.head_dim_qk;
  const auto first = inputs.k.begin() +
                     static_cast<std::ptrdiff_t>(static_cast<std::size_t>(inputs.page_table[0]) * elements);
  std::fill_n(first, elements, std::uint16_t{0x7f});
  const Outputs after = decode(*gpu, attention, inputs);
  const auto half = after.o.begin() + static_cast<std::ptrdiff_t>(after.o.size() / 2);
  for (auto element = after.o.begin(); element != half; element += 2) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, &*element, sizeof(bits));
    REQUIRE((bits & 0x7fffU) > 0x7f80U);  // a bf16 NaN
  }
  CHECK(std::equal(half, after.o.end(), before.o.end() - (after.o.end() - half)));
  // Minus infinity would mean that there was no key, and a merge would omit the rows.
  const auto middle = after.lse.begin() + static_cast<std::ptrdiff_t>(after.lse.size() / 2);
  CHECK(std::all_of(after.lse.begin(), middle, [](float lse) { return std::isnan(lse); }));
}

}  // namespace
}  // namespace cubinet
