// SPDX-License-Identifier: Apache-2.0
// Compares the bits of invariant numerics: whole prompts with chunks, verification and decode of
// the same sequences, in other batches and pages. Needs a GPU and NVRTC. CUBINET_TEST_SEED repeats
// a run. At full size (CUBINET_TEST_EVERY) there are more than 500 workloads.
#include "random_cases.hpp"
#include "support/sampled.hpp"

#include <cubinet/attention/prompt_parts.hpp>
#include <cubinet/base/parallel.hpp>

#include <algorithm>
#include <cstring>
#include <set>

namespace cubinet {
namespace {

using test::Dice;
using test::ok;
using namespace test::gpu;

// The prompts, and the results of all of them.
struct ComputedPrompts : Prompts {
  OutputBits outputs;
};

OutputBits compute(const Gpu& gpu, const BoundAttention& attention, const AttentionInputs& inputs) {
  Outputs outputs = decode(gpu, attention, inputs);
  return {std::move(outputs.o), std::move(outputs.lse)};
}

ComputedPrompts run_prompts(const Gpu& gpu, AttentionProblem problem, std::uint64_t seed) {
  problem.lse = true;
  problem.numerics = AttentionNumerics::invariant;
  ComputedPrompts prompts{ok(make_prompts(problem, seed, 1)), {}};
  prompts.outputs = compute(gpu, bind(gpu, prompts.problem), prompts.inputs);
  return prompts;
}

// A run that computes parts of the prompts, one for each sequence of its batch.
struct Workload {
  AttentionProblem problem;
  std::vector<PromptPart> parts;
  bool shares_pages = false;
};

// Returns the error, or an empty string if all bits are equal.
std::string fault_of(const Gpu& gpu, const ComputedPrompts& prompts, const Workload& workload, Dice& dice) {
  const BoundAttention attention = bind(gpu, workload.problem);
  const OutputBits outputs = compute(
      gpu, attention,
      inputs_of_parts(prompts, workload.problem, workload.parts, workload.shares_pages, dice.number()));
  const std::size_t rows = row_count(prompts, workload.parts);
  const std::size_t different = rows - equal_rows(prompts, prompts.outputs, workload.parts, outputs);
  if (different == 0) return "";
  return std::to_string(different) + " of " + std::to_string(rows) + " rows by " +
         std::get<KernelSpec>(attention.plan().steps.front().kernel).to_string() + ", " +
         std::to_string(attention.plan().division.kv_splits) + " segments";
}

// Returns a workload of parts with at most `most` query tokens each.
Workload random_workload(const Prompts& prompts, bool prefill, std::size_t most, Dice& dice) {
  Workload workload{prompts.problem, {}, dice.one_of(2)};
  AttentionProblem& problem = workload.problem;
  problem.prefill = prefill;
  problem.layout = QkvLayout::paged_kv;
  problem.ragged_q = true;
  problem.kv_order = dice.pick({KvOrder::nhd, KvOrder::hnd});
  problem.batch = dice.size(1, 12);
  std::size_t longest = 0;
  std::size_t end = 0;
  for (std::uint32_t i = 0; i < problem.batch; ++i) {
    PromptPart part;
    part.prompt = dice.number() % prompts.problem.batch;
    part.end = dice.one_of(3) ? prompts.length() - dice.number() % 3
                              : dice.size(1, static_cast<std::uint32_t>(prompts.length()));
    const auto limit = static_cast<std::uint32_t>(std::min(most, part.end));
    part.begin = part.end - (dice.one_of(2) ? limit : dice.size(1, limit));
    longest = std::max(longest, part.end - part.begin);
    end = std::max(end, part.end);
    workload.parts.push_back(part);
  }
  problem.q_len = static_cast<std::uint32_t>(longest + (prefill ? dice.number() % 100 : 0));
  problem.kv_len = std::max(static_cast<std::uint32_t>(end + dice.number() % 2000), problem.q_len);
  if (dice.one_of(2)) {
    for (const PromptPart& part : workload.parts)
      problem.kv_lengths.push_back(static_cast<std::int32_t>(part.end));
  }
  return workload;
}

struct Kind {
  std::uint32_t head_dim_qk, head_dim_v, heads_q, heads_kv, page_size, window;
  DataType type, output;
  bool sinks, caps;
};

AttentionProblem problem_of(const Kind& kind, std::uint32_t kv_len) {
  AttentionProblem problem;
  problem.batch = 3;
  problem.kv_len = kv_len;
  problem.head_dim_qk = kind.head_dim_qk;
  problem.head_dim_v = kind.head_dim_v;
  problem.heads_q = kind.heads_q;
  problem.heads_kv = kind.heads_kv;
  problem.tokens_per_page = kind.page_size;
  problem.window = kind.window;
  problem.data_type_q = problem.data_type_k = problem.data_type_v = kind.type;
  problem.data_type_o = kind.output;
  problem.sinks = kind.sinks;
  if (kind.caps) problem.soft_cap = 30.0;
  return problem;
}

constexpr Kind kKinds[] = {
    {128, 128, 16, 2, 64, kUnlimited, DataType::bf16, DataType::bf16, false, false},
    {128, 128, 3, 3, 16, kUnlimited, DataType::fp16, DataType::fp16, true, false},
    {128, 128, 20, 4, 256, 700, DataType::bf16, DataType::fp32, true, true},
    {64, 64, 8, 1, 8, 100, DataType::fp16, DataType::bf16, true, false},
    {64, 64, 28, 4, 32, kUnlimited, DataType::bf16, DataType::fp32, false, true},
    {256, 256, 16, 1, 16, kUnlimited, DataType::bf16, DataType::bf16, false, false},
    {192, 128, 4, 4, 24, kUnlimited, DataType::bf16, DataType::bf16, false, false},
    {96, 96, 6, 2, 16, kUnlimited, DataType::fp16, DataType::fp16, false, false},
    {72, 72, 5, 1, 64, kUnlimited, DataType::bf16, DataType::bf16, true, false},
    {88, 88, 4, 2, 24, 300, DataType::bf16, DataType::fp32, false, true},
};

TEST_CASE("Prompts have the same bits whole, in chunks, verified and decoded, in any batch and page") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  const std::uint64_t seed = seed_of_run();
  MESSAGE("CUBINET_TEST_SEED=", seed);
  const std::size_t each = test::at_full_size() ? 22 : 5;
  std::mutex mutex;
  std::vector<std::string> faults;
  std::size_t count = 0;
  parallel_for(std::size(kKinds), 0, [&](std::size_t i) {
    Dice dice(seed + i);
    const Kind& kind = kKinds[i];
    const ComputedPrompts prompts = run_prompts(*gpu, problem_of(kind, dice.size(600, 2500)), dice.number());
    for (std::size_t run = 0; run < each; ++run) {
      // Head dims of 192/128 are those of prefill alone.
      const bool generates = kind.head_dim_qk != 192;
      for (const auto& [prefill, most] : {std::pair{true, prompts.length()}, {false, 1}, {false, 9}}) {
        const Workload workload = random_workload(prompts, prefill || !generates, most, dice);
        const std::string fault = fault_of(*gpu, prompts, workload, dice);
        const std::lock_guard lock(mutex);
        ++count;
        if (!fault.empty()) faults.push_back(fault);
      }
    }
  });
  MESSAGE(count, " workloads");
  test::counted(count, "workloads of invariant numerics");
  for (const std::string& fault : faults)
    FAIL_CHECK(fault);
}

// Returns the errors of the kernels of a prefill problem: those of all families and tiles, which
// should have equal bits.
std::vector<std::string> different_kernels(const Gpu& gpu, const AttentionProblem& problem,
                                           std::uint64_t seed) {
  AttentionInputs inputs =
      ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::borders), seed));
  pad_page_table(problem, inputs);
  std::optional<Outputs> first;
  std::vector<std::string> faults;
  for (const auto& [family, ways] : ways_of(gpu, ok(AttentionBackends::builtin()), problem)) {
    for (const PlanOptions& way : ways) {
      const Outputs outputs = decode(gpu, test::gpu::bind(gpu, problem, 0, true, way.kernel), inputs);
      if (!first) first = outputs;
      const bool equal =
          outputs.o == first->o && outputs.lse.size() == first->lse.size() &&
          std::memcmp(outputs.lse.data(), first->lse.data(), outputs.lse.size() * sizeof(float)) == 0;
      if (!equal) faults.push_back(way.kernel->to_string() + ", q_len " + std::to_string(problem.q_len));
    }
  }
  return faults;
}

TEST_CASE("Every family and tile of prefill gives the same bits, whatever masks and lengths they meet") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  std::mutex mutex;
  std::vector<std::string> faults;
  parallel_for(std::size(kKinds), 0, [&](std::size_t i) {
    for (const bool dense : {false, true}) {
      AttentionProblem problem = problem_of(kKinds[i], 1700);
      problem.batch = 19;
      problem.numerics = AttentionNumerics::invariant;
      problem.prefill = problem.lse = problem.ragged_q = true;
      if (dense) {
        problem.mask = AttentionMask::dense;
        problem.window = kUnlimited;
        problem.layout = QkvLayout::contiguous_kv;
      }
      for (const std::uint32_t q_len : {5U, 37U, 129U, 700U}) {
        problem.q_len = q_len;
        const std::vector<std::string> found = different_kernels(*gpu, problem, 100 * i + q_len);
        const std::lock_guard lock(mutex);
        faults.insert(faults.end(), found.begin(), found.end());
      }
    }
  });
  for (const std::string& fault : faults)
    FAIL_CHECK(fault);
}

// A tile of 8 rows has up to 40 segments, one of 64 rows up to 10.
TEST_CASE("Every division of KV gives the same bits, folded by the last block or by a second kernel") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  std::set<std::pair<std::string, bool>> seen;
  for (const std::uint32_t q_len : {1U, 8U}) {
    AttentionProblem problem = many_borders(128, 64);
    problem.batch = 5;
    problem.q_len = q_len;
    problem.kv_len = q_len == 1 ? 20'000 : 5000;
    problem.heads_q = 16;
    problem.heads_kv = 2;
    problem.numerics = AttentionNumerics::invariant;
    problem.lse = true;
    AttentionInputs inputs =
        ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::borders), q_len));
    pad_page_table(problem, inputs);
    std::optional<Outputs> first;
    for (const std::uint32_t splits : {0U, 1U, 2U, 3U, 8U, 40U}) {
      const BoundAttention attention = bind(*gpu, problem, splits);
      const std::string kernel = std::get<KernelSpec>(attention.plan().steps.front().kernel).name;
      seen.emplace(kernel, attention.plan().steps.size() > 1);
      for (int run = 0; run < 2; ++run) {
        const Outputs outputs = decode(*gpu, attention, inputs);
        if (!first) first = outputs;
        CAPTURE(kernel);
        CAPTURE(splits);
        CHECK(outputs.o == first->o);
        CHECK(std::memcmp(outputs.lse.data(), first->lse.data(), outputs.lse.size() * sizeof(float)) == 0);
      }
    }
  }
  CHECK(seen.size() == 4);
}

TEST_CASE("Invariant numerics agree with float64") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const Kind& kind : kKinds) {
    const ComputedPrompts prompts = run_prompts(*gpu, problem_of(kind, 1100), 5);
    compare(prompts.problem, prompts.inputs, prompts.outputs.o, prompts.outputs.lse);
  }
}

// Rows see the same tokens at positions that are `shift` further. Only whole segments keep the
// bits.
TEST_CASE("A shifted segment has other bits, and one that is shifted by its length the same") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  AttentionProblem problem;
  problem.batch = 1;
  problem.kv_len = 1500;
  problem.heads_q = 4;
  problem.window = 800;
  const ComputedPrompts prompts = run_prompts(*gpu, problem, 3);
  for (const std::size_t shift : {1U, 64U, 512U}) {
    CAPTURE(shift);
    ComputedPrompts shifted = prompts;
    shifted.problem.kv_len += static_cast<std::uint32_t>(shift);
    const auto repeat = [&](ElementBits& rows, std::size_t elements) {
      const ElementBits first(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(shift * elements));
      rows.insert(rows.begin(), first.begin(), first.end());
    };
    repeat(shifted.inputs.q, 4 * 128);
    repeat(shifted.inputs.k, 128);
    repeat(shifted.inputs.v, 128);
    const PromptPart part{0, 800 + shift, 1500 + shift};
    for (const bool prefill : {true, false}) {
      Workload workload{shifted.problem, {}, false};
      workload.problem.prefill = prefill;
      workload.problem.layout = QkvLayout::paged_kv;
      workload.problem.ragged_q = true;
      workload.problem.batch = prefill ? 1 : 700;
      for (std::size_t i = 0; i < workload.problem.batch; ++i)
        workload.parts.push_back(prefill ? part : PromptPart{0, part.begin + i, part.begin + i + 1});
      workload.problem.q_len = prefill ? 700 : 1;
      workload.shares_pages = true;
      const OutputBits outputs =
          compute(*gpu, bind(*gpu, workload.problem),
                  inputs_of_parts(shifted, workload.problem, workload.parts, workload.shares_pages, 7));
      const PromptPart rows[] = {{0, 800, 1500}};
      const std::size_t equal = equal_rows(prompts, prompts.outputs, rows, outputs);
      CHECK((equal == row_count(prompts, rows)) == (shift == 512));
    }
  }
}

TEST_CASE("What an append has written is attended to with the same bits as if it had been there") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  AttentionProblem problem = many_borders(128, 64);
  problem.heads_q = 16;
  problem.numerics = AttentionNumerics::invariant;
  problem.lse = true;
  problem.append.emplace();
  problem.append->rope_dim = 128;
  const AttentionInputs inputs =
      ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::borders), 11));
  const Outputs appended = decode(*gpu, bind(*gpu, problem), inputs);
  AttentionProblem complete = problem;
  complete.append.reset();
  const Outputs attended = decode(*gpu, bind(*gpu, complete), ok(append_reference(problem, inputs)));
  CHECK(appended.o == attended.o);
  CHECK(appended.lse == attended.lse);
}

}  // namespace
}  // namespace cubinet
