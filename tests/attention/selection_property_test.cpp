// SPDX-License-Identifier: Apache-2.0
#include "kernel_table/random_rows.hpp"
#include "problems.hpp"
#include "selection_oracle.hpp"
#include "support/property_counts.hpp"
#include "support/sampled.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace cubinet {
namespace {

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  bool one_in(std::uint64_t count) { return below(count) == 0; }
  template <class Value>
  Value one_of(std::initializer_list<Value> values) {
    return values.begin()[below(values.size())];
  }

  // Returns the problem that a table is made for. Batch, lengths and heads are still to be chosen.
  AttentionProblem family() {
    AttentionProblem p;
    p.prefill = one_in(6);
    const std::uint64_t dims = below(5);
    p.head_dim_qk = dims == 0 ? 64 : dims == 1 ? 576 : dims == 2 ? 192 : dims == 3 ? 512 : 128;
    p.head_dim_v = dims == 1 ? 512 : dims == 2 ? 128 : p.head_dim_qk;
    p.data_type_q = one_of({DataType::bf16, DataType::e4m3});
    p.data_type_k = p.data_type_v = one_in(4) ? DataType::e4m3 : p.data_type_q;
    p.data_type_o = one_in(8) ? DataType::e2m1 : DataType::bf16;
    p.layout = one_in(5) ? QkvLayout::contiguous_kv : QkvLayout::paged_kv;
    p.tokens_per_page = one_of<std::uint32_t>({16, 64, 64, 128, 256});
    p.mask = one_of({AttentionMask::causal, AttentionMask::causal, AttentionMask::causal,
                     AttentionMask::dense, AttentionMask::custom});
    if (dims == 1 && p.is_generation() && one_in(4)) {
      p.sparse = SparseAttention::static_token;
      p.top_k = one_of<std::uint32_t>({128, 2048});
    }
    p.skips_softmax = p.sparse == SparseAttention::none && one_in(10);
    return p;
  }

  AttentionProblem member(AttentionProblem p) {
    p.batch = static_cast<std::uint32_t>(one_in(3) ? 1 : 1 + below(one_in(4) ? 600 : 24));
    const std::uint32_t group = one_of<std::uint32_t>({1, 2, 4, 5, 8, 12, 16, 32, 64, 128, 128, 256});
    p.heads_kv = static_cast<std::uint32_t>(1 + below(p.is_mla_generation() || one_in(2) ? 1 : 8));
    p.heads_q = p.heads_kv * group;
    p.q_len =
        static_cast<std::uint32_t>(p.is_generation() ? (one_in(2) ? 1 : 1 + below(20)) : 1 + below(2000));
    p.kv_len = static_cast<std::uint32_t>(p.q_len + below(one_of<std::uint64_t>({400, 4000, 40000, 400000})));
    const bool may_slide = p.mask == AttentionMask::causal && p.sparse == SparseAttention::none;
    p.window = may_slide && one_in(5) ? static_cast<std::uint32_t>(1 + below(3000)) : kUnlimited;
    return p;
  }

  // Returns rows near the family. Each field is right most of the time, and the variables of the
  // rules are random.
  std::vector<KernelRow> table(const AttentionProblem& p) {
    std::vector<KernelRow> rows;
    const std::uint64_t count = below(4) == 0 ? below(3) : 4 + below(44);
    for (std::uint64_t i = 0; i < count; ++i)
      rows.push_back(row(p, i));
    // A resolved table has one row per selector, target and traits.
    std::vector<KernelRow> distinct;
    for (const KernelRow& candidate : rows) {
      const bool seen = std::any_of(distinct.begin(), distinct.end(), [&](const KernelRow& other) {
        return published_spec(other) == published_spec(candidate) && other.target == candidate.target;
      });
      if (!seen) distinct.push_back(candidate);
    }
    return distinct;
  }

  std::mt19937_64& random() { return random_; }

 private:
  KernelRow row(const AttentionProblem& p, std::uint64_t number) {
    KernelRow row;
    KernelSelector& s = row.selector;
    s.data_type_q = p.data_type_q;
    s.data_type_k = p.data_type_k;
    s.data_type_v = p.data_type_v;
    s.data_type_o = one_in(20) ? DataType::fp16 : p.data_type_o;
    s.layout = p.layout;
    s.head_dim_qk = static_cast<std::uint16_t>(p.head_dim_qk);
    s.head_dim_v = static_cast<std::uint16_t>(p.head_dim_v);
    s.sparse = p.sparse;
    s.skips_softmax = one_in(20) ? !p.skips_softmax : p.skips_softmax;
    choose_variables(p, s);
    choose_page(p, s);
    row.traits.step_q = p.is_generation() ? s.tile_size_q : one_of<std::uint32_t>({128, 256});
    row.traits.step_kv = one_of<std::uint32_t>({128, 256});
    row.traits.groups_heads_q = p.is_generation() && !one_in(20);
    row.target = one_of<SmTarget>({{10, 0, TargetKind::family},
                                   {10, 0, TargetKind::specific},
                                   {10, 3, TargetKind::specific},
                                   {10, 3, TargetKind::family}});
    if (one_in(30)) row.extras.push_back({"mFuture", "true"});
    row.shared_bytes = one_in(30) ? 240'000 : 100'000;
    row.threads = 512;
    row.function_name = "kernel_" + std::to_string(number);
    return row;
  }

  void choose_variables(const AttentionProblem& p, KernelSelector& s) {
    const bool mla = p.is_mla_generation();
    s.mask =
        one_in(3)
            ? one_of({AttentionMask::dense, AttentionMask::causal, AttentionMask::sliding_or_chunked_causal})
            : p.mask;
    s.scheduler = one_of({TileScheduler::static_grid, TileScheduler::static_grid, TileScheduler::persistent});
    s.groups_tokens_heads_q = p.is_generation() && !mla && !one_in(4);
    s.head_dim_per_cta_v = static_cast<std::uint16_t>(p.head_dim_v);
    if (p.head_dim_v > 128) s.head_dim_per_cta_v = one_of<std::uint16_t>({512, 256, 128});
    if (!p.is_generation()) {
      s.kernel_type = KernelType::context;
      s.tile_size_q = 128;
      return;
    }
    s.tile_size_q = one_of<std::uint16_t>({8, 16, 32, 64, 128});
    s.kernel_type = s.tile_size_q >= 64 ? KernelType::keeps_mma_ab : KernelType::swaps_mma_ab;
    s.multi_ctas_kv_mode = static_cast<MultiCtasKvMode>(below(4));
    s.two_cta = mla && s.tile_size_q == 64 && one_in(2);
    if (s.two_cta) s.head_dim_per_cta_v = 256;
  }

  void choose_page(const AttentionProblem& p, KernelSelector& s) {
    if (p.layout != QkvLayout::paged_kv && p.sparse == SparseAttention::none) return;
    if (p.sparse != SparseAttention::none) {
      s.tokens_per_page = 1;
    } else if (p.tokens_per_page >= 128 && !one_in(3)) {
      s.tokens_per_page = kDynamicPage;
      s.dynamic_page = true;
    } else {
      s.tokens_per_page = one_in(8) ? 32 : p.tokens_per_page;
    }
  }

  std::mt19937_64 random_;
};

bool same(const Selection& a, const Selection& b) {
  if (a.found != b.found) return false;
  return !a.found || (a.row->function_name == b.row->function_name && a.launch == b.launch &&
                      a.workspace == b.workspace && a.trace.pass_count == b.trace.pass_count);
}

struct Tally {
  std::uint64_t problems = 0;
  std::uint64_t answered = 0;
  std::uint64_t wrong = 0;
};

void compare(const AttentionProblem& problem, const DeviceFacts& device, const KernelIndex& index,
             const Result<Selection>& selection, Tally& tally) {
  ++tally.problems;
  if (!selection) {
    ++tally.wrong;
    return;
  }
  const auto expected = test::brute_force_select(problem, device, index.rows());
  bool right = selection->found == expected.has_value() && selection->trace.pass_count <= kRefinements;
  if (right && expected) {
    const auto& grid = selection->launch.grid;
    right = selection->row == expected->row && selection->launch.ctas_kv == expected->kv_splits &&
            grid[0] == expected->grid[0] && grid[1] == expected->grid[1] && grid[2] == expected->grid[2];
    right = right && runs_on(selection->row->target, device.capability) &&
            (selection->launch.ctas_kv == 1 || selection->launch.total_ctas() <= device.sm_count);
    if (selection->launch.reduction) right = right && selection->launch.reduction->grid[0] > 0;
  }
  if (!selection->found) {
    right = right && std::none_of(index.rows().begin(), index.rows().end(), [&](const auto& row) {
              return test::serves_unsplit(problem, device, *row);
            });
  }
  if (selection->found) ++tally.answered;
  if (!right) ++tally.wrong;
}

TEST_CASE("selection agrees with brute force over random problems and tables" * doctest::test_suite("loop")) {
  constexpr std::uint64_t kProblemsATable = 8;
  // Each problem is answered twice and by brute force. The short form takes 10 s in the optimised
  // build.
  const std::uint64_t least = test::at_full_size() ? 1 : 40;
  const std::uint64_t count = 1'000'000 / std::max<std::uint64_t>(test::kPropertyDivisor, least);
  Generator generator(11);
  Tally tally;
  std::uint64_t disagreeing_orders = 0;
  while (tally.problems < count) {
    const AttentionProblem family = generator.family();
    const DeviceFacts device{{10, static_cast<std::uint16_t>(generator.one_in(2) ? 0 : 3)},
                             generator.one_of<std::uint32_t>({148, 132, 20}),
                             0};
    std::vector<KernelRow> rows = generator.table(family);
    const KernelIndex index = test::index_of(rows, device.capability);
    std::shuffle(rows.begin(), rows.end(), generator.random());
    const KernelIndex shuffled = test::index_of(rows, device.capability);
    for (std::uint64_t i = 0; i < kProblemsATable; ++i) {
      const AttentionProblem problem = generator.member(family);
      const auto a = select(problem, device, index, {});
      compare(problem, device, index, a, tally);
      const auto b = select(problem, device, shuffled, {});
      if (!a || !b || !same(*a, *b)) ++disagreeing_orders;
    }
  }
  MESSAGE(tally.answered << " of " << tally.problems << " problems have an answer");
  CHECK(tally.wrong == 0);
  CHECK(disagreeing_orders == 0);
  CHECK(tally.answered * 10 >= tally.problems * 3);
  CHECK(tally.answered * 10 <= tally.problems * 7);
}

}  // namespace
}  // namespace cubinet
