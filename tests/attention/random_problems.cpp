// SPDX-License-Identifier: Apache-2.0
#include "random_problems.hpp"

#include <cubinet/attention/reference_values.hpp>

#include <algorithm>
#include <cmath>

namespace cubinet::test {
namespace {

constexpr double kMostWork = 1.5e8;
constexpr double kMostKvElements = 4e7;

// Returns the number of elements of a K pool.
double kv_elements(const AttentionProblem& problem) {
  const double tokens = std::ceil(static_cast<double>(problem.kv_len) / problem.tokens_per_page) *
                        problem.tokens_per_page * problem.batch;
  return tokens * problem.heads_kv * problem.head_dim_qk;
}

bool is_too_large(const AttentionProblem& problem) {
  return reference_work(problem) > kMostWork || kv_elements(problem) > kMostKvElements;
}

void pick_types(AttentionProblem& kind, Dice& dice) {
  kind.data_type_q = dice.pick({DataType::bf16, DataType::bf16, DataType::fp16, DataType::e4m3});
  const bool narrow = kind.data_type_q == DataType::e4m3 || dice.one_of(3);
  kind.data_type_k = kind.data_type_v = narrow ? DataType::e4m3 : kind.data_type_q;
  const DataType wide = kind.data_type_q == DataType::fp16 ? DataType::fp16 : DataType::bf16;
  kind.data_type_o = dice.pick({wide, wide, DataType::fp32, DataType::e4m3});
}

// Sets sinks and the output scale.
void set_output(AttentionProblem& problem, Dice& dice) {
  // A sink may reduce a row below the smallest numbers of the narrower types.
  const bool wide_output = problem.data_type_o == DataType::bf16 || problem.data_type_o == DataType::fp32;
  problem.sinks = wide_output && dice.one_of(3);
  const bool narrow_output = problem.data_type_o == DataType::e4m3;
  if (dice.one_of(3)) problem.output_scale = narrow_output ? 0.25 : 3.0;
  // Rounding the weights to bf16 leaves an error of 2^-9 of the largest V. It must not exceed one
  // step of an e4m3 output near 0, which is 2^-9 as well. Prefill also multiplies KV of e4m3 with
  // weights of bf16 if Q is bf16.
  const bool weighs_in_bf16 =
      problem.data_type_k == DataType::bf16 || (problem.prefill && problem.data_type_q == DataType::bf16);
  if (narrow_output && weighs_in_bf16) problem.output_scale = 0.125;
}

// Scales of V would raise the error of an output of e4m3 above one step.
void pick_kv_scales(AttentionProblem& problem, Dice& dice) {
  if (problem.data_type_k != DataType::e4m3 || problem.data_type_o == DataType::e4m3) return;
  problem.kv_scales = dice.pick({KvScales::none, KvScales::head, KvScales::sequence});
}

}  // namespace

std::uint32_t Dice::size(std::uint32_t least, std::uint32_t most) {
  const double low = std::log(static_cast<double>(least));
  const double high = std::log(static_cast<double>(most) + 1);
  const double drawn = std::uniform_real_distribution<double>(low, high)(generator_);
  return std::clamp(static_cast<std::uint32_t>(std::exp(drawn)), least, most);
}

AttentionProblem random_kind(Dice& dice) {
  AttentionProblem kind;
  pick_types(kind, dice);
  const std::uint32_t head_dim = dice.pick({64U, 128U, 128U, 256U, 512U, 576U, 576U});
  kind.head_dim_qk = head_dim;
  kind.head_dim_v = head_dim == 576 ? 512 : head_dim;
  // The head dims of Q and K may differ from that of V.
  if (head_dim <= 256 && dice.one_of(8)) kind.head_dim_v = dice.pick({64U, 128U, 256U});
  kind.tokens_per_page = dice.pick({8U, 16U, 32U, 64U, 64U, 128U, 256U});
  const bool latent = kind.is_mla_generation();
  kind.mask = dice.pick({AttentionMask::causal, AttentionMask::causal, AttentionMask::dense});
  // The mix limits problems that latent attention on Hopper leaves to the portable kernel.
  const unsigned rare = latent ? 12 : 4;
  if (dice.one_of(rare)) kind.mask = AttentionMask::custom;
  if (kind.mask != AttentionMask::dense && dice.one_of(rare)) kind.window = 1;  // random_sizes() sets it
  if (dice.one_of(rare)) kind.soft_cap = dice.pick({20.0, 50.0});
  kind.separate_page_tables = !latent && dice.one_of(4);
  return kind;
}

AttentionProblem random_sizes(const AttentionProblem& kind, Dice& dice) {
  AttentionProblem problem = kind;
  const bool latent = kind.is_mla_generation();
  problem.q_len = dice.one_of(3) ? 1 : latent ? dice.size(1, 4) : dice.size(1, 16);
  problem.heads_kv = latent ? 1 : dice.pick({1U, 1U, 2U, 3U, 8U});
  const std::uint32_t group = latent ? dice.pick({8U, 12U, 16U, 16U, 20U, 32U, 48U, 64U, 128U})
                                     : dice.pick({1U, 2U, 4U, 5U, 7U, 8U, 8U, 12U, 16U});
  problem.heads_q = group * problem.heads_kv;
  problem.batch = dice.one_of(3) ? 1 : dice.size(1, 300);
  problem.kv_len = std::max(problem.q_len, dice.one_of(8) ? dice.size(1, 131'072) : dice.size(1, 4'096));
  if (dice.one_of(3)) {  // next to a border
    const std::uint32_t border = dice.pick({problem.tokens_per_page, 32U, 64U, 128U, 512U});
    const std::uint32_t times = std::max(problem.kv_len / border, 1U);
    problem.kv_len = std::max(times * border + dice.pick({0U, 1U}) - dice.pick({0U, 1U}), problem.q_len);
  }
  while (is_too_large(problem)) {
    if (problem.batch > 1 && dice.one_of(2)) {
      problem.batch /= 2;
    } else {
      problem.kv_len = std::max(problem.kv_len / 2, problem.q_len);
    }
  }
  if (kind.window != kUnlimited)
    problem.window = dice.one_of(4) ? 1 : dice.size(1, std::max(problem.kv_len, 2U));
  problem.ragged_q = dice.one_of(4);
  problem.kv_order = dice.pick({KvOrder::nhd, KvOrder::hnd});
  problem.lse = dice.one_of(2);
  problem.scales_on_device = dice.one_of(4);
  set_output(problem, dice);
  if (dice.one_of(4)) problem.softmax_scale = 0.5 * problem.scale();
  pick_kv_scales(problem, dice);
  return problem;
}

AttentionProblem random_prefill_kind(Dice& dice) {
  AttentionProblem kind;
  kind.prefill = true;
  pick_types(kind, dice);
  kind.head_dim_qk = dice.pick({64U, 72U, 80U, 88U, 96U, 128U, 128U, 192U, 256U, 512U});
  kind.head_dim_v = kind.head_dim_qk == 192 ? 128 : kind.head_dim_qk;
  kind.layout = dice.pick(
      {QkvLayout::paged_kv, QkvLayout::paged_kv, QkvLayout::contiguous_kv, QkvLayout::separate_qkv});
  kind.separate_page_tables = kind.layout == QkvLayout::paged_kv && dice.one_of(4);
  kind.mask = dice.pick({AttentionMask::causal, AttentionMask::causal, AttentionMask::dense});
  if (kind.mask == AttentionMask::causal && dice.one_of(3)) kind.window = 1;  // the sizes set it
  if (dice.one_of(4)) kind.soft_cap = dice.pick({20.0, 50.0});
  return kind;
}

AttentionProblem random_prefill_sizes(const AttentionProblem& kind, Dice& dice) {
  AttentionProblem problem = kind;
  const auto near_border = [&dice](std::uint32_t size) {
    const std::uint32_t border = dice.pick({16U, 64U, 128U});
    const std::uint32_t times = std::max(size / border, 1U);
    return times * border + dice.pick({0U, 1U}) - dice.pick({0U, 1U});
  };
  problem.heads_kv = dice.pick({1U, 1U, 2U, 3U});
  problem.heads_q = problem.heads_kv * dice.pick({1U, 1U, 2U, 5U, 7U, 8U, 16U});
  problem.batch = dice.one_of(3) ? 1 : dice.size(1, 40);
  problem.q_len = dice.one_of(8) ? 1 : dice.size(1, 700);
  if (dice.one_of(3)) problem.q_len = near_border(problem.q_len);
  problem.kv_len = dice.one_of(3) ? problem.q_len : dice.size(1, 3000);
  if (dice.one_of(3)) problem.kv_len = near_border(problem.kv_len);
  problem.tokens_per_page = dice.pick({8U, 16U, 24U, 40U, 64U, 64U, 72U, 128U, 136U, 256U});
  while (is_too_large(problem)) {
    if (problem.batch > 1) {
      problem.batch /= 2;
    } else if (problem.q_len > problem.kv_len / 4) {
      problem.q_len = std::max(problem.q_len / 2, 1U);
    } else {
      problem.kv_len = std::max(problem.kv_len / 2, 1U);
    }
  }
  const bool may_exceed = problem.mask == AttentionMask::dense;
  if (!may_exceed) problem.kv_len = std::max(problem.kv_len, problem.q_len);
  if (kind.window != kUnlimited)
    problem.window = dice.one_of(4) ? 1 : dice.size(1, std::max(problem.kv_len, 2U));
  problem.ragged_q = dice.one_of(2);
  problem.kv_order = dice.pick({KvOrder::nhd, KvOrder::hnd});
  problem.lse = dice.one_of(2);
  problem.scales_on_device = dice.one_of(4);
  set_output(problem, dice);
  if (dice.one_of(4)) problem.softmax_scale = 0.5 * problem.scale();
  pick_kv_scales(problem, dice);
  return problem;
}

std::vector<std::int32_t> random_lengths(const AttentionProblem& problem, Dice& dice) {
  const auto pattern = dice.one_of(2) ? LengthPattern::borders : LengthPattern::uniform;
  std::vector<std::int32_t> lengths = make_kv_lengths(problem, pattern);
  if (!dice.one_of(2)) return lengths;
  const bool one_long = dice.one_of(2);
  for (std::size_t i = 1; i < lengths.size(); ++i) {
    const std::uint32_t least = std::min(problem.q_len, problem.kv_len);
    const std::uint32_t most = one_long ? std::max(problem.kv_len / 16, least) : problem.kv_len;
    lengths[i] = dice.one_of(8) ? 0 : static_cast<std::int32_t>(dice.size(least, most));
  }
  return lengths;
}

double reference_work(const AttentionProblem& problem) {
  return static_cast<double>(problem.batch) * problem.q_len * problem.heads_q * problem.kv_len *
         (problem.head_dim_qk + problem.head_dim_v);
}

}  // namespace cubinet::test
