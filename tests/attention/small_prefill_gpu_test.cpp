// SPDX-License-Identifier: Apache-2.0
// Small prompts of every kind that the kernels of prefill attention distinguish, each with one tile
// of each family: fast enough for a sanitizer (scripts/gpu_check.sh). Prints the name of each
// before its kernel runs, because a sanitizer names kernels only. Needs a GPU and NVRTC.
#include "decode_gpu_fixture.hpp"

#include <cubinet/base/parallel.hpp>

#include <cstdio>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
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
AttentionProblem four_sequences(std::uint32_t head_dim) {
  AttentionProblem problem;
  problem.prefill = problem.lse = true;
  problem.batch = 4;
  problem.q_len = 70;
  problem.kv_len = 150;
  problem.heads_q = 4;
  problem.heads_kv = 2;
  problem.head_dim_qk = problem.head_dim_v = head_dim;
  return problem;
}

// The query tokens of the four sequences in a mixed batch.
const std::vector<std::int32_t> kMixedLengths = {70, 0, 1, 5};

// A change of a problem, and its name.
struct SmallVariant {
  const char* name;
  void (*change)(AttentionProblem&);
};

constexpr SmallVariant kSmallTypes[] = {
    {"bf16", [](AttentionProblem&) {}},
    {"fp16",
     [](AttentionProblem& p) {
       p.data_type_q = p.data_type_k = p.data_type_v = p.data_type_o = DataType::fp16;
     }},
    {"bf16 over e4m3", [](AttentionProblem& p) { p.data_type_k = p.data_type_v = DataType::e4m3; }},
    {"e4m3", [](AttentionProblem& p) { p.data_type_q = p.data_type_k = p.data_type_v = DataType::e4m3; }},
};
constexpr SmallVariant kSmallLayouts[] = {
    {"pages of 64", [](AttentionProblem&) {}},
    {"contiguous", [](AttentionProblem& p) { p.layout = QkvLayout::contiguous_kv; }},
    {"pages of 24 head by head",
     [](AttentionProblem& p) {
       p.tokens_per_page = 24;
       p.kv_order = KvOrder::hnd;
     }},
    {"one sequence after the other",
     [](AttentionProblem& p) {
       p.layout = QkvLayout::separate_qkv;
       p.ragged_q = true;
     }},
    {"pages of 16 with tables of their own",
     [](AttentionProblem& p) {
       p.tokens_per_page = 16;
       p.separate_page_tables = true;
     }},
};
constexpr SmallVariant kSmallOptions[] = {
    {"plain", [](AttentionProblem&) {}},
    {"window", [](AttentionProblem& p) { p.window = 50; }},
    {"soft cap and sinks",
     [](AttentionProblem& p) {
       p.soft_cap = 30.0;
       p.sinks = true;
     }},
    {"dense, output of fp32",
     [](AttentionProblem& p) {
       p.mask = AttentionMask::dense;
       p.data_type_o = DataType::fp32;
     }},
    {"ragged, scales on the device", [](AttentionProblem& p) { p.ragged_q = p.scales_on_device = true; }},
    {"two segments, invariant if of 16 bits",
     [](AttentionProblem& p) {
       if (bits_of(p.data_type_k) == 16) p.numerics = AttentionNumerics::invariant;
       p.kv_len = 600;  // two segments
     }},
    {"window and soft cap over 500 tokens",
     [](AttentionProblem& p) {
       p.kv_len = 500;
       p.window = 300;
       p.soft_cap = 20.0;
     }},
};

// Adds every head dim with every type. Layouts and options take turns, so that each type meets
// every layout and every option.
void add_matrix(std::vector<SmallPrompts>& all) {
  std::size_t row = 0;
  for (const std::uint32_t head_dim : {64U, 72U, 80U, 88U, 96U, 128U, 192U, 256U, 512U}) {
    for (std::size_t type = 0; type < std::size(kSmallTypes); ++type, ++row) {
      const SmallVariant& layout = kSmallLayouts[row % std::size(kSmallLayouts)];
      const SmallVariant& option = kSmallOptions[(row + type) % std::size(kSmallOptions)];
      AttentionProblem problem = four_sequences(head_dim);
      if (head_dim == 192) problem.head_dim_v = 128;
      for (const SmallVariant* variant : {&kSmallTypes[type], &layout, &option})
        variant->change(problem);
      const std::string kind = std::string("head dim ") + std::to_string(head_dim) + " of " +
                               kSmallTypes[type].name + ", " + layout.name + ", " + option.name;
      all.push_back({kind, problem, {}});
      if (problem.ragged_q && row % 2 == 0) all.back().q_lengths = kMixedLengths;
    }
  }
}

std::vector<SmallPrompts> small_prompts() {
  std::vector<SmallPrompts> all;
  const auto add = [&](const char* kind, std::uint32_t head_dim, const auto& change) {
    AttentionProblem problem = four_sequences(head_dim);
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
  all.back().q_lengths = kMixedLengths;
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
  add("e4m3, mixed", 128, [](P& p) {
    p.data_type_q = p.data_type_k = p.data_type_v = DataType::e4m3;
    p.ragged_q = true;
  });
  all.back().q_lengths = kMixedLengths;
  add_matrix(all);
  return all;
}

// One kernel, bound without splits of KV and with them if it has any.
struct SmallRuns {
  std::string kernel;
  std::vector<BoundAttention> bound;
};

// Returns a tile of the family, another one for each `turn`; none if the family does not compute
// the problem.
SmallRuns bind_small(const Gpu& gpu, const AttentionProblem& problem, std::string_view family,
                     std::size_t turn) {
  std::vector<KernelSpec> kernels = kernels_of(gpu, problem);
  std::erase_if(kernels, [&](const KernelSpec& kernel) { return kernel.name != family; });
  SmallRuns runs;
  if (kernels.empty()) return runs;
  const KernelSpec& kernel = kernels[turn % kernels.size()];
  runs.kernel = kernel.to_string();
  const bool has_splits = family == kWarpgroups && !problem.is_invariant();
  for (const std::uint32_t splits : has_splits ? std::vector{1U, 3U} : std::vector{0U})
    runs.bound.push_back(bind(gpu, problem, splits, true, kernel));
  return runs;
}

std::vector<Outputs> run_small(const Gpu& gpu, const std::string& kind, const SmallRuns& runs,
                               const AttentionInputs& inputs) {
  std::vector<Outputs> outputs;
  for (const BoundAttention& attention : runs.bound) {
    std::printf("small prompts: %s, by %s\n", kind.c_str(), runs.kernel.c_str());
    std::fflush(stdout);  // before a sanitizer writes about the run
    outputs.push_back(decode(gpu, attention, inputs));
  }
  return outputs;
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

// Checks all prompts with one family, which computes at least `least` of their kinds. Kernels run
// one after the other, so that what a sanitizer reports belongs to the name before it.
void check_family(const Gpu& gpu, const char* family, std::ptrdiff_t least) {
  struct Prepared {
    AttentionInputs inputs;
    AttentionOutputs reference;
    SmallRuns runs;
  };
  const std::vector<SmallPrompts> all = small_prompts();
  std::vector<Prepared> prepared(all.size());
  parallel_for(all.size(), 0, [&](std::size_t i) {
    const AttentionProblem& problem = all[i].problem;
    prepared[i].runs = bind_small(gpu, problem, family, i);
    if (prepared[i].runs.bound.empty()) return;
    prepared[i].inputs = small_inputs(all[i]);
    prepared[i].reference = ok(attention_reference(problem, prepared[i].inputs, 1));
    pad_page_table(problem, prepared[i].inputs);
  });
  std::ptrdiff_t computed = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Prepared& of = prepared[i];
    if (!of.runs.bound.empty()) ++computed;
    for (const Outputs& outputs : run_small(gpu, all[i].kind, of.runs, of.inputs)) {
      const std::string fault = deviation_of(all[i].problem, of.reference, outputs, family);
      CHECK_MESSAGE(fault.empty(), all[i].kind, ", ", of.runs.kernel, ": ", fault);
    }
  }
  CHECK(computed >= least);
}

TEST_CASE("Small prompts of every kind agree with float64 in the portable kernel") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  check_family(*gpu, kPortable, std::ssize(small_prompts()));
}

TEST_CASE("Small prompts of every kind agree with float64 in warpgroups") {
  const auto gpu = hopper();
  if (!gpu) return;
  check_family(*gpu, kWarpgroups, 36);
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
    const SmallRuns warpgroups = bind_small(*gpu, problem, kWarpgroups, i);
    if (warpgroups.bound.empty()) return;
    const AttentionInputs inputs = small_inputs(all[i]);
    const SmallRuns portable = bind_small(*gpu, problem, kPortable, i);
    const Outputs expected = run_small(*gpu, all[i].kind, portable, inputs).front();
    for (const Outputs& outputs : run_small(*gpu, all[i].kind, warpgroups, inputs)) {
      const std::string fault = deviation_of(problem, as_reference(problem, expected), outputs, kWarpgroups);
      if (!fault.empty()) faults[i] += all[i].kind + ", " + warpgroups.kernel + ": " + fault + "; ";
      if (problem.is_invariant() && outputs.o != expected.o)
        faults[i] += all[i].kind + ", " + warpgroups.kernel + ": other bits; ";
    }
  });
  for (const std::string& fault : faults)
    CHECK_MESSAGE(fault.empty(), fault);
}

}  // namespace
}  // namespace cubinet
