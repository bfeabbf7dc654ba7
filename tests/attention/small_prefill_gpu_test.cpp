// SPDX-License-Identifier: Apache-2.0
// Small prompts of every kind that the kernels of prefill attention distinguish, each with one tile
// of each family: fast enough for a sanitizer (scripts/gpu_check.sh). Needs a GPU and NVRTC.
#include "decode_gpu_fixture.hpp"

#include <cubinet/base/parallel.hpp>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace cubinet {
namespace {

using test::ok;
using namespace test::gpu;

constexpr const char* kPortable = "attention_prefill";
constexpr const char* kWarpgroups = "attention_prefill_wgmma";

struct SmallPrompts {
  std::string kind;
  AttentionProblem problem;
  std::vector<std::int32_t> q_lengths;  // empty: random ones with ragged_q
};

// Returns four sequences, one of them empty. Rows and tokens fill one tile and a part of another.
std::vector<SmallPrompts> small_prompts() {
  std::vector<SmallPrompts> all;
  const auto add = [&](const char* kind, std::uint32_t head_dim, const auto& change) {
    AttentionProblem problem;
    problem.prefill = problem.lse = true;
    problem.batch = 4;
    problem.q_len = 70;
    problem.kv_len = 150;
    problem.heads_q = 4;
    problem.heads_kv = 2;
    problem.head_dim_qk = problem.head_dim_v = head_dim;
    change(problem);
    all.push_back({kind, problem, {}});
  };
  using P = AttentionProblem;
  add("pages of 64", 128, [](P&) {});
  add("head dim 64, pages of 16", 64, [](P& p) { p.tokens_per_page = 16; });
  add("head dims 192 and 128", 192, [](P& p) { p.head_dim_v = 128; });
  add("head dim 256", 256, [](P& p) { p.q_len = 40; });
  add("head dim 80", 80, [](P&) {});
  add("head dim 72, contiguous, output of fp32", 72, [](P& p) {
    p.layout = QkvLayout::contiguous_kv;
    p.data_type_o = DataType::fp32;
  });
  add("head dim 88, pages of 24, window, sinks and soft cap", 88, [](P& p) {
    p.tokens_per_page = 24;
    p.window = 50;
    p.sinks = true;
    p.soft_cap = 30.0;
  });
  add("head dim 96 of fp16, one sequence after the other, dense", 96, [](P& p) {
    p.data_type_q = p.data_type_k = p.data_type_v = p.data_type_o = DataType::fp16;
    p.layout = QkvLayout::separate_qkv;
    p.mask = AttentionMask::dense;
    p.ragged_q = true;
  });
  add("pages of 24 with tables of their own", 128, [](P& p) {
    p.tokens_per_page = 24;
    p.separate_page_tables = true;
    p.kv_order = KvOrder::hnd;
  });
  add("contiguous", 128, [](P& p) { p.layout = QkvLayout::contiguous_kv; });
  add("one sequence after the other", 64, [](P& p) {
    p.layout = QkvLayout::separate_qkv;
    p.ragged_q = true;
  });
  add("window, sinks and soft cap", 128, [](P& p) {
    p.window = 50;
    p.sinks = true;
    p.soft_cap = 30.0;
  });
  add("dense, more rows than tokens", 128, [](P& p) {
    p.mask = AttentionMask::dense;
    p.q_len = 200;
  });
  add("fp16, output of fp32, scales on the device", 128, [](P& p) {
    p.data_type_q = p.data_type_k = p.data_type_v = DataType::fp16;
    p.data_type_o = DataType::fp32;
    p.scales_on_device = true;
  });
  add("append", 128, [](P& p) {
    p.append.emplace();
    p.append->rope_dim = 128;
  });
  add("mixed", 128, [](P& p) { p.ragged_q = true; });
  all.back().q_lengths = {70, 0, 1, 5};
  add("invariant", 128, [](P& p) {
    p.numerics = AttentionNumerics::invariant;
    p.kv_len = 600;  // two segments
  });
  add("invariant, head dim 88", 88, [](P& p) {
    p.numerics = AttentionNumerics::invariant;
    p.kv_len = 600;
  });
  add("KV of e4m3", 128, [](P& p) { p.data_type_k = p.data_type_v = DataType::e4m3; });
  add("e4m3, head dim 64", 64, [](P& p) { p.data_type_q = p.data_type_k = p.data_type_v = DataType::e4m3; });
  add("KV of e4m3, head dim 72, pages of 24, window", 72, [](P& p) {
    p.data_type_k = p.data_type_v = DataType::e4m3;
    p.tokens_per_page = 24;
    p.window = 50;
  });
  add("e4m3, head dim 88, contiguous, output of fp32", 88, [](P& p) {
    p.data_type_q = p.data_type_k = p.data_type_v = DataType::e4m3;
    p.layout = QkvLayout::contiguous_kv;
    p.data_type_o = DataType::fp32;
  });
  add("e4m3, mixed", 128, [](P& p) {
    p.data_type_q = p.data_type_k = p.data_type_v = DataType::e4m3;
    p.ragged_q = true;
  });
  all.back().q_lengths = {70, 0, 1, 5};
  return all;
}

// The outputs of one kernel, without splits of KV and with them if it has any.
struct SmallRun {
  std::string kernel;
  std::vector<Outputs> outputs;
};

// Returns the runs of the first tile of the family; none if the family does not compute the
// problem.
SmallRun run_small(const Gpu& gpu, const AttentionProblem& problem, const AttentionInputs& inputs,
                   std::string_view family) {
  SmallRun run;
  for (const KernelSpec& kernel : kernels_of(gpu, problem)) {
    if (kernel.name != family || !run.outputs.empty()) continue;
    run.kernel = kernel.to_string();
    const bool has_splits = family == kWarpgroups && !problem.is_invariant();
    for (const std::uint32_t splits : has_splits ? std::vector{1U, 3U} : std::vector{0U})
      run.outputs.push_back(decode(gpu, bind(gpu, problem, splits, true, kernel), inputs));
  }
  return run;
}

std::string deviation_of(const AttentionProblem& problem, const AttentionOutputs& reference,
                         const Outputs& outputs, const char* family) {
  const AttentionDeviation error = ok(compare_attention(problem, reference, outputs.o, outputs.lse));
  const Limits limits = limits_of(problem, family);
  if (error.worst_row < limits.row && error.worst_lse < limits.lse) return "";
  std::ostringstream words;
  words << "row " << error.worst_index << " by " << error.worst_row << ", log-sum-exp by " << error.worst_lse;
  return words.str();
}

AttentionInputs small_inputs(const SmallPrompts& prompts) {
  return ok(make_attention_inputs(prompts.problem, make_kv_lengths(prompts.problem, LengthPattern::borders),
                                  11, 1, prompts.q_lengths));
}

// Checks all prompts with one family, which computes at least `least` of their kinds.
void check_family(const Gpu& gpu, const char* family, std::ptrdiff_t least) {
  const std::vector<SmallPrompts> all = small_prompts();
  std::vector<std::string> faults(all.size());
  std::vector<std::size_t> runs(all.size());
  parallel_for(all.size(), 0, [&](std::size_t i) {
    const AttentionProblem& problem = all[i].problem;
    AttentionInputs inputs = small_inputs(all[i]);
    const AttentionOutputs reference = ok(attention_reference(problem, inputs, 1));
    pad_page_table(problem, inputs);
    const SmallRun run = run_small(gpu, problem, inputs, family);
    runs[i] = run.outputs.size();
    for (const Outputs& outputs : run.outputs) {
      const std::string fault = deviation_of(problem, reference, outputs, family);
      if (!fault.empty()) faults[i] += all[i].kind + ", " + run.kernel + ": " + fault + "; ";
    }
  });
  for (const std::string& fault : faults)
    CHECK_MESSAGE(fault.empty(), fault);
  CHECK(std::count_if(runs.begin(), runs.end(), [](std::size_t count) { return count > 0; }) >= least);
}

TEST_CASE("Small prompts of every kind agree with float64 in the portable kernel") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  check_family(*gpu, kPortable, std::ssize(small_prompts()));
}

TEST_CASE("Small prompts of every kind agree with float64 in warpgroups") {
  const auto gpu = hopper();
  if (!gpu) return;
  check_family(*gpu, kWarpgroups, 20);
}

// Returns the outputs of a kernel as a reference for others.
AttentionOutputs as_reference(const AttentionProblem& problem, const Outputs& outputs) {
  AttentionOutputs reference;
  reference.lse.assign(outputs.lse.begin(), outputs.lse.end());
  const std::size_t elements = reference.lse.size() * problem.head_dim_v;
  for (std::size_t i = 0; i < elements; ++i)
    reference.o.push_back(stored_element(outputs.o, i, problem.data_type_o));
  return reference;
}

TEST_CASE("The portable kernel and warpgroups agree with each other about small prompts of every kind") {
  const auto gpu = hopper();
  if (!gpu) return;
  const std::vector<SmallPrompts> all = small_prompts();
  std::vector<std::string> faults(all.size());
  parallel_for(all.size(), 0, [&](std::size_t i) {
    const AttentionProblem& problem = all[i].problem;
    const AttentionInputs inputs = small_inputs(all[i]);
    const SmallRun portable = run_small(*gpu, problem, inputs, kPortable);
    const SmallRun warpgroups = run_small(*gpu, problem, inputs, kWarpgroups);
    for (const Outputs& outputs : warpgroups.outputs) {
      const std::string fault =
          deviation_of(problem, as_reference(problem, portable.outputs.front()), outputs, kWarpgroups);
      if (!fault.empty()) faults[i] += all[i].kind + ", " + warpgroups.kernel + ": " + fault + "; ";
      if (problem.is_invariant() && outputs.o != portable.outputs.front().o)
        faults[i] += all[i].kind + ", " + warpgroups.kernel + ": other bits; ";
    }
  });
  for (const std::string& fault : faults)
    CHECK_MESSAGE(fault.empty(), fault);
}

}  // namespace
}  // namespace cubinet
