// SPDX-License-Identifier: Apache-2.0
#include "size_limits.hpp"

#include "backend_fixture.hpp"
#include "published/published_launch.hpp"
#include "support/property_counts.hpp"
#include "tensor_checks.hpp"

#include <cubinet/kernel_templates/attention_append_parameters.h>
#include <cubinet/kernel_templates/attention_decode_parameters.h>
#include <cubinet/kernel_templates/attention_lse_parameters.h>
#include <cubinet/kernel_templates/attention_prefill_parameters.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <random>
#include <span>

namespace cubinet {
namespace {

// Holds every product of sizes that a problem may have.
__extension__ using Wide = unsigned __int128;

constexpr Wide kLimit = Wide{1} << 56U;

Wide divided_up(Wide a, Wide b) {
  return (a + b - 1) / b;
}

class HugeProblems {
 public:
  explicit HugeProblems(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  bool one_in(std::uint64_t count) { return below(count) == 0; }
  template <class Value>
  Value one_of(std::initializer_list<Value> values) {
    return values.begin()[below(values.size())];
  }

  // Returns a random size up to `most`. All magnitudes are equally likely. Powers of two, their
  // neighbours and the limit itself are frequent.
  std::uint32_t size(std::uint32_t most) {
    if (one_in(8)) return most;
    const auto bits = static_cast<unsigned>(std::bit_width(most));
    const std::uint64_t power = std::uint64_t{1} << below(bits);
    const std::uint64_t value = one_in(2) ? power + below(power) : power - 1 + below(3);
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(value, 1, most));
  }

  AttentionProblem problem() {
    AttentionProblem p;
    p.prefill = one_in(2);
    p.batch = size(65'535);
    p.kv_len = size(kUnlimited);
    p.q_len = p.prefill || one_in(4) ? size(one_in(2) ? p.kv_len : kUnlimited) : size(16);
    p.heads_kv = size(one_in(2) ? 64 : 65'535);
    p.heads_q = p.heads_kv * size(std::max(65'535 / p.heads_kv, 1U));
    const bool latent = one_in(6);
    p.head_dim_qk = latent ? 576 : one_of({64U, 128U, 128U, 256U, 8U, 1024U});
    p.head_dim_v = latent ? 512 : p.head_dim_qk;
    if (latent && !one_in(4)) p.heads_kv = 1;
    pick_types(p);
    p.layout = one_in(4) ? one_of({QkvLayout::separate_qkv, QkvLayout::contiguous_kv}) : QkvLayout::paged_kv;
    p.tokens_per_page = one_in(4) ? 1U << below(21) : one_of({8U, 16U, 64U, 128U});
    p.mask =
        one_of({AttentionMask::causal, AttentionMask::causal, AttentionMask::dense, AttentionMask::custom});
    if (p.mask == AttentionMask::causal && one_in(4)) p.window = size(kUnlimited);
    p.lse = one_in(2);
    p.sinks = one_in(4);
    p.ragged_q = one_in(3);
    p.separate_page_tables = !latent && one_in(4);
    if (one_in(4)) append(p);
    return p;
  }

  PlanOptions options() {
    PlanOptions options;
    options.launches = one_in(2);
    options.assumes_all_kernels = !options.launches;
    options.backend = one_of<std::string_view>({"auto", "templates", "published"});
    if (one_in(6)) options.splits = size(256);
    if (!options.splits && one_in(6)) options.split_tokens = 128 * size(1U << 23U);
    return options;
  }

 private:
  void pick_types(AttentionProblem& p) {
    p.data_type_q = one_of({DataType::bf16, DataType::fp16, DataType::e4m3});
    p.data_type_k = p.data_type_v = one_in(3) ? DataType::e4m3 : p.data_type_q;
    p.data_type_o = one_of({p.data_type_q, DataType::bf16, DataType::fp32});
  }

  void append(AttentionProblem& p) {
    AttentionProblem::Append& append = p.append.emplace();
    append.data_type = p.data_type_q == DataType::fp16 ? DataType::fp16 : DataType::bf16;
    append.rope_dim = one_in(2) ? 0 : 64;
    append.positions = one_in(2);
    append.attends = !one_in(2);
  }

  std::mt19937_64 random_;
};

Wide bytes_of(Wide elements, DataType type) {
  return elements * bits_of(type) / 8;
}

// A tensor of a run and its minimum size, computed without a size limit.
struct NeededTensor {
  DeviceTensor AttentionTensors::*tensor;
  Wide bytes;
};

// The tokens of sequences that follow each other: those of the longest, or the least that a run
// accepts.
enum class SideBySide { longest, least };

std::vector<NeededTensor> needed(const AttentionProblem& p, const WorkspaceSizes& workspace,
                                 const AttentionPlan::TensorRules& rules, SideBySide side_by_side) {
  const bool least = side_by_side == SideBySide::least;
  const Wide tokens = !p.ragged_q ? Wide{p.batch} * p.q_len : least ? 1 : p.q_len;
  const bool paged = p.layout == QkvLayout::paged_kv;
  const Wide kv_rows = (paged                                 ? Wide{p.tokens_per_page}
                        : p.layout == QkvLayout::separate_qkv ? Wide{least ? 1 : p.kv_len}
                                                              : Wide{p.batch} * p.kv_len) *
                       p.heads_kv;
  const std::uint32_t v_columns = p.is_mla_generation() ? p.head_dim_qk : p.head_dim_v;
  const DataType new_type = p.append ? p.append->data_type : DataType::bf16;
  std::vector<NeededTensor> all = {
      {&AttentionTensors::k, bytes_of(kv_rows * p.head_dim_qk, p.data_type_k)},
      {&AttentionTensors::v, bytes_of(kv_rows * v_columns, p.data_type_v)},
      {&AttentionTensors::kv_lengths, Wide{p.batch} * 4},
  };
  const auto add = [&](bool wanted, DeviceTensor AttentionTensors::*tensor, Wide bytes) {
    if (wanted && bytes != 0) all.push_back({tensor, bytes});
  };
  const Wide pages = paged ? divided_up(p.kv_len, p.tokens_per_page) : 0;
  add(paged, &AttentionTensors::page_table, Wide{p.batch} * (p.separate_page_tables ? 2 : 1) * pages * 4);
  add(p.appends_q(), &AttentionTensors::new_q, bytes_of(tokens * p.heads_q * p.head_dim_qk, new_type));
  add(p.append.has_value(), &AttentionTensors::new_k,
      bytes_of(tokens * p.heads_kv * p.head_dim_qk, new_type));
  add(p.append.has_value(), &AttentionTensors::new_v, bytes_of(tokens * p.heads_kv * p.head_dim_v, new_type));
  add(p.append && p.append->positions, &AttentionTensors::positions, tokens * 4);
  add(p.append && p.append->rope_dim != 0, &AttentionTensors::cos_sin,
      p.append ? Wide{p.append->positions ? 1 : p.kv_len} * p.append->rope_dim * 4 : 0);
  add(p.attends() || p.appends_q(), &AttentionTensors::q,
      bytes_of(tokens * p.heads_q * p.head_dim_qk, p.data_type_q));
  if (!p.attends()) return all;
  add(true, &AttentionTensors::o, bytes_of(tokens * p.heads_q * p.head_dim_v, p.data_type_o));
  add(p.lse, &AttentionTensors::lse,
      (rules.lse_as_planned ? Wide{p.batch} * p.q_len : tokens) * p.heads_q * 4);
  add(p.sinks, &AttentionTensors::sinks, Wide{p.heads_q} * 4);
  add(p.mask == AttentionMask::custom, &AttentionTensors::mask, tokens * divided_up(p.q_len, 32) * 4);
  add(true, &AttentionTensors::scratch, workspace.scratch_bytes);
  add(true, &AttentionTensors::counters, workspace.counter_bytes);
  return all;
}

// Returns whether tensors of exactly the needed sizes are accepted, and whether each tensor that
// lacks a byte is refused.
bool checks_are_exact(const AttentionPlan& plan) {
  const AttentionProblem& problem = plan.request.problem;
  // K and V may share one pool. An error about a pool that lacks a byte may then name the other
  // tensor.
  const TensorChecks checks(problem, plan.workspace, plan.rules);
  AttentionTensors tensors;
  std::uint64_t address = 0x1000;
  const std::vector<NeededTensor> all = needed(problem, plan.workspace, plan.rules, SideBySide::least);
  for (const NeededTensor& one : all) {
    if (one.bytes > kLimit) return false;
    tensors.*one.tensor = {address, static_cast<std::uint64_t>(one.bytes), {}};
    address += static_cast<std::uint64_t>(one.bytes) / 4096 * 4096 + 8192;
  }
  const std::uint64_t offsets = (std::uint64_t{problem.batch} + 1) * 4;
  tensors.q_offsets = tensors.kv_offsets = {0x1000, offsets, {}};
  if (problem.is_mla_generation()) {
    tensors.k.bytes = tensors.v.bytes = std::max(tensors.k.bytes, tensors.v.bytes);
    tensors.v.address = tensors.k.address;
  }
  if (const auto taken = checks.check(tensors); !taken) {
    MESSAGE(taken.error().message);
    return false;
  }
  return std::all_of(all.begin(), all.end(), [&](const NeededTensor& one) {
    AttentionTensors lacking = tensors;
    (lacking.*one.tensor).bytes -= 1;
    return !checks.check(lacking);
  });
}

template <class Parameters>
Parameters prepared(const PlanStep& step) {
  std::vector<std::byte> argument(step.arguments->size());
  step.arguments->prepare(argument);
  Parameters parameters;
  REQUIRE(argument.size() >= sizeof(parameters));  // tensor maps may follow
  std::memcpy(&parameters, argument.data(), sizeof(parameters));
  return parameters;
}

bool is_right_append(const AttentionProblem& p, const PlanStep& step) {
  const auto a = prepared<kernel_templates::AttentionAppendParameters>(step);
  const Wide row = Wide{p.heads_kv} * p.head_dim_qk;
  const Wide threads =
      (2 * Wide{p.heads_kv} + (p.appends_q() ? p.heads_q : 0)) * (std::max(p.head_dim_qk, p.head_dim_v) / 16);
  return static_cast<Wide>(a.new_k_batch_stride) == row * p.q_len &&
         static_cast<Wide>(a.k_page_stride) == row * p.tokens_per_page && step.grid[0] == p.q_len &&
         step.grid[1] == divided_up(threads, 128) && step.grid[2] == p.batch &&
         (p.ragged_q || Wide{p.batch} * p.q_len <= kLargestCount);
}

bool is_right_lse(const AttentionProblem& p, const PlanStep& step) {
  const Wide rows = Wide{p.batch} * p.q_len * p.heads_q;
  const auto lse = prepared<kernel_templates::AttentionLseParameters>(step);
  return static_cast<Wide>(lse.rows) == rows && step.grid[0] == divided_up(rows, 512);
}

// Returns whether the partial results of every block have a location and the argument has every
// size.
bool is_right_decode(const AttentionPlan& plan, const PlanStep& step) {
  const AttentionProblem& p = plan.request.problem;
  const auto d = prepared<kernel_templates::AttentionDecodeParameters>(step);
  const Wide q_token = Wide{p.heads_q} * p.head_dim_qk;
  const Wide o_token = Wide{p.heads_q} * p.head_dim_v;
  bool right = static_cast<Wide>(d.q_batch_stride) == q_token * p.q_len &&
               static_cast<Wide>(d.o_batch_stride) == o_token * p.q_len &&
               static_cast<Wide>(d.k_page_stride) == Wide{p.tokens_per_page} * p.heads_kv * p.head_dim_qk &&
               Wide{step.grid[0]} == Wide{static_cast<unsigned>(d.blocks.divisor)} * p.heads_kv;
  const Wide units = Wide{p.batch} * static_cast<unsigned>(d.q_tiles) *
                     divided_up(p.kv_len, static_cast<unsigned>(d.unit.divisor));
  right = right && units <= kLargestCount;
  const WorkspaceSizes& w = plan.workspace;
  if (w.scratch_bytes == 0) return right;
  const Wide rows = Wide{p.heads_kv} * static_cast<unsigned>(d.partial_rows);
  const Wide slots = w.partial_stats_bytes / 4 / rows;
  const Wide least = d.split_is_unit != 0
                         ? Wide{p.batch} * static_cast<unsigned>(d.q_tiles) * plan.division.kv_splits
                         : 2 * Wide{static_cast<unsigned>(d.blocks.divisor)};
  return right && slots >= least && slots <= 2 * Wide{kLargestCount} &&
         w.partial_stats_bytes == slots * rows * 4 &&
         w.partial_output_bytes == divided_up(slots * rows * p.head_dim_v * 4, 256) * 256 &&
         Wide{w.scratch_bytes} == Wide{w.partial_stats_offset} + w.partial_stats_bytes &&
         w.partial_stats_offset == w.partial_output_bytes;
}

// Returns whether the partial results of every split have a location, and the splits all tokens.
bool has_partial_results(const AttentionPlan& plan, Wide split_tokens) {
  const AttentionProblem& p = plan.request.problem;
  const WorkspaceSizes& w = plan.workspace;
  const Wide splits = plan.division.kv_splits;
  if (splits == 1) return w.scratch_bytes == 0;
  const Wide rows = splits * p.batch * p.q_len * p.heads_q;
  return splits * split_tokens >= p.kv_len && w.partial_stats_bytes == rows * 4 &&
         w.partial_output_bytes == divided_up(rows * p.head_dim_v * 4, 256) * 256 &&
         w.partial_stats_offset == w.partial_output_bytes &&
         Wide{w.scratch_bytes} == Wide{w.partial_stats_offset} + w.partial_stats_bytes;
}

// Returns whether the grid has a thread for 8 columns of every row, and no index overflows.
bool is_right_combine(const AttentionPlan& plan, const PlanStep& step) {
  const AttentionProblem& p = plan.request.problem;
  const Wide rows = Wide{p.q_len} * p.heads_q;
  return plan.division.kv_splits > 1 && rows <= kLargestCount && step.threads == 128 &&
         Wide{step.grid[0]} == divided_up(rows * p.head_dim_v, 1024) && step.grid[1] == p.batch;
}

// Returns whether the grid has no more blocks than tiles and the argument has every size.
bool is_right_prefill(const AttentionPlan& plan, const PlanStep& step) {
  const AttentionProblem& p = plan.request.problem;
  const auto a = prepared<kernel_templates::AttentionPrefillParameters>(step);
  const bool paged = p.layout == QkvLayout::paged_kv;
  const Wide kv_tokens = paged ? p.tokens_per_page : p.kv_len;
  const Wide heads = p.heads_q / static_cast<unsigned>(a.tile_heads.divisor);
  const Wide rows = Wide{p.q_len} * static_cast<unsigned>(a.tile_heads.divisor);
  const Wide tile = plan.row.selector.tile_size_q;
  const Wide together = std::max<Wide>(plan.row.traits.step_q, tile);  // the rows of a cluster
  const Wide tiles =
      Wide{p.batch} * heads * divided_up(rows, together) * (together / tile) * plan.division.kv_splits;
  return has_partial_results(plan, static_cast<unsigned>(a.split_tokens)) &&
         static_cast<Wide>(a.q_batch_stride) == Wide{p.heads_q} * p.head_dim_qk * p.q_len &&
         static_cast<Wide>(a.o_batch_stride) == Wide{p.heads_q} * p.head_dim_v * p.q_len &&
         static_cast<Wide>(a.k_outer_stride) == kv_tokens * p.heads_kv * p.head_dim_qk &&
         rows <= kLargestCount && tiles <= kLargestCount && Wide{step.grid[0]} <= tiles;
}

bool is_right_published(const AttentionPlan& plan, const PlanStep& step) {
  const AttentionProblem& p = plan.request.problem;
  const WorkspaceSizes& w = plan.workspace;
  const Wide rows = Wide{p.batch} * p.heads_q * divided_up(p.q_len, 256) * 256;
  const Wide stats = p.lse ? rows * 8 + (1U << 20U) : 0;
  const Wide tiles = Wide{step.grid[0]} * step.grid[1] * step.grid[2];
  return Wide{w.softmax_stats_bytes} == stats && Wide{w.scratch_bytes} >= stats &&
         w.scratch_bytes <= kLimit && (p.ragged_q || Wide{p.batch} * p.q_len <= kLargestCount) &&
         tiles < kLimit && (w.partial_output_bytes == 0 || tiles <= plan.request.device.sm_count) &&
         Wide{w.scratch_bytes} >= Wide{w.partial_output_offset} + w.partial_output_bytes;
}

bool is_right(const AttentionPlan& plan, const PlanStep& step) {
  if (step.grid[0] == 0 || step.grid[0] > kMaximumGridX) return false;
  for (const std::uint32_t size : {step.grid[1], step.grid[2]}) {
    if (size == 0 || size > kMaximumGridYz) return false;
  }
  if (step.threads == 0 || step.threads > 1024) return false;
  const AttentionProblem& problem = plan.request.problem;
  if (step.entry_point == "attention_append") return is_right_append(problem, step);
  if (step.entry_point == "attention_lse") return is_right_lse(problem, step);
  if (step.entry_point == "attention_reduction" || step.entry_point == "attention_combine") return true;
  if (plan.backend_name() == kPublishedBackend) return is_right_published(plan, step);
  if (step.entry_point == "attention_prefill_combine") return is_right_combine(plan, step);
  const bool is_prefill = step.entry_point.starts_with("attention_prefill");
  return is_prefill ? is_right_prefill(plan, step) : is_right_decode(plan, step);
}

// Returns whether a tensor that every problem has is larger than the limit.
bool is_too_large(const AttentionProblem& p) {
  AttentionProblem whole = p;
  whole.ragged_q = false;
  whole.lse = true;
  if (whole.append) whole.append->attends = true;
  const std::vector<NeededTensor> all = needed(whole, {}, {}, SideBySide::longest);
  return std::any_of(all.begin(), all.end(), [](const NeededTensor& one) { return one.bytes > kLimit; });
}

struct Outcomes {
  std::uint64_t too_large = 0;
  std::uint64_t other_refusals = 0;
  std::uint64_t declined = 0;
  std::uint64_t planned = 0;
};

void resolve_huge(HugeProblems& random, const AttentionBackends& backends, Outcomes& outcomes) {
  const AttentionProblem problem = random.problem();
  const DeviceFacts device = random.one_of({test::kB200, test::kH200, DeviceFacts{{8, 0}, 108, 0}});
  const auto resolution = resolve_attention(problem, device, {}, backends, random.options());
  CAPTURE(problem.batch);
  CAPTURE(problem.q_len);
  CAPTURE(problem.kv_len);
  CAPTURE(problem.heads_q);
  CAPTURE(problem.heads_kv);
  if (!resolution) {
    const Error& error = resolution.error();
    const bool of_size = test::holds(error.message, "must not exceed 2^56 bytes");
    ++(of_size ? outcomes.too_large : outcomes.other_refusals);
    if (of_size && !(is_too_large(problem) && !error.remedy.empty())) FAIL_CHECK(error.message);
    return;
  }
  if (is_too_large(problem)) FAIL_CHECK("a tensor of more than 2^56 bytes is planned");
  if (!resolution->plan) {
    ++outcomes.declined;
    return;
  }
  ++outcomes.planned;
  const AttentionPlan& plan = *resolution->plan;
  for (const PlanStep& step : plan.steps) {
    CAPTURE(step.entry_point);
    if (!is_right(plan, step)) FAIL_CHECK("a step's size is wrong");
  }
  if (!checks_are_exact(plan)) FAIL_CHECK("the tensors' sizes are wrong");
}

TEST_CASE("every size of a plan of huge problems is what arithmetic without limits says" *
          doctest::test_suite("loop")) {
  HugeProblems random(29);
  const AttentionBackends backends = test::builtin_backends();
  Outcomes outcomes;
  const std::uint64_t count = 10'000'000 / test::kPropertyDivisor;
  for (std::uint64_t i = 0; i < count; ++i)
    resolve_huge(random, backends, outcomes);
  MESSAGE(outcomes.planned << " planned, " << outcomes.declined << " declined, " << outcomes.too_large
                           << " too large, " << outcomes.other_refusals << " refused otherwise, of "
                           << count);
  CHECK(outcomes.planned * 10 > count);
  CHECK(outcomes.too_large * 20 > count);
  CHECK(outcomes.declined * 20 > count);
}

TEST_CASE("a tensor that no device addresses is named with the fields that it is the product of") {
  AttentionProblem problem = test::context(65'535, 1U << 30U, 1U << 30U, 32, 4);
  const auto refused = check_problem(problem);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::invalid_argument);
  CHECK(refused.error().message ==
        "q has `AttentionProblem::batch` 65535 x `AttentionProblem::q_len` 1073741824 x "
        "`AttentionProblem::heads_q` 32 x `AttentionProblem::head_dim_qk` 128 elements of 16 bits: a tensor "
        "must not "
        "exceed 2^56 bytes");
  CHECK(refused.error().remedy == "reduce `AttentionProblem::batch` or `AttentionProblem::q_len`");
  // The tensor has exactly 2^56 bytes. One more sequence exceeds the limit.
  problem = test::context(1U << 15U, 1U << 25U, 1U << 25U, 256, 4);
  CHECK(check_problem(problem));
  problem.batch += 1;
  CHECK_FALSE(check_problem(problem));
  problem.ragged_q = true;
  CHECK_FALSE(check_problem(problem));
}

TEST_CASE("KV that is not paged and the mask have the same limit") {
  AttentionProblem problem = test::context(65'535, 1, kUnlimited, 256, 1);
  problem.layout = QkvLayout::contiguous_kv;
  CHECK(test::holds(check_problem(problem).error().message,
                    "k has `AttentionProblem::batch` 65535 x `AttentionProblem::kv_len` 2147483647 x "
                    "`AttentionProblem::heads_kv`"));
  problem.layout = QkvLayout::separate_qkv;
  CHECK(check_problem(problem));
  problem = test::context(65'535, 1U << 24U, 1U << 24U, 1, 1);
  CHECK(check_problem(problem));
  problem.mask = AttentionMask::custom;
  CHECK(test::holds(
      check_problem(problem).error().message,
      "mask has `AttentionProblem::batch` 65535 x `AttentionProblem::q_len` 16777216 x mask_words"));
}

TEST_CASE("published kernels decline more tokens and rows than they count") {
  test::Known known{test::kB200, {}, {}};
  known.options.assumes_all_kernels = true;
  AttentionProblem problem = test::context(1U << 15U, 1U << 15U, 1U << 15U, 8, 1);
  CHECK(test::plan_of(problem, "published", known).steps[0].grid[2] == 1U << 15U);
  problem.batch = 65'535;
  problem.q_len = 1U << 16U;
  problem.kv_len = 1U << 16U;
  CHECK(test::holds(
      test::decline_of(problem, "published", known),
      "`AttentionProblem::batch` 65535 times `AttentionProblem::q_len` 65536 is 4294901760 query tokens"));
  problem.ragged_q = true;
  problem.lse = true;
  problem.heads_q = problem.heads_kv = 255;
  CHECK(test::plan_of(problem, "published", known).steps.back().grid[0] == 65'535ULL * 65'536 * 255 / 512);
  problem.heads_q = problem.heads_kv = 257;
  CHECK(test::holds(test::decline_of(problem, "published", known), "log-sum-exp"));
}

TEST_CASE("an append counts its tokens to 31 bits, unless offsets say where they are") {
  AttentionProblem problem = test::generation(65'535, 1U << 15U, 1U << 20U, 8, 1);
  problem.append.emplace().attends = false;
  CHECK(resolve_attention(problem, test::kH200, {}, {}, {}));
  problem.q_len += 1;
  const auto refused = resolve_attention(problem, test::kH200, {}, {}, {});
  REQUIRE_FALSE(refused);
  CHECK(test::holds(
      refused.error().message,
      "`AttentionProblem::batch` 65535 times `AttentionProblem::q_len` 32769 is 2147516415 tokens"));
  problem.ragged_q = true;
  CHECK(resolve_attention(problem, test::kH200, {}, {}, {}));
}

TEST_CASE("a product that does not fit 64 bits is the largest number") {
  CHECK(saturating_product(1ULL << 32U, 1ULL << 31U) == 1ULL << 63U);
  CHECK(saturating_product(1ULL << 32U, 1ULL << 32U) == UINT64_MAX);
  CHECK(saturating_product(0, UINT64_MAX) == 0);
}

}  // namespace
}  // namespace cubinet
