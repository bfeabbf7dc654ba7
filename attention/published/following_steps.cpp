// SPDX-License-Identifier: Apache-2.0
#include "following_steps.hpp"

#include "rounding.hpp"
#include "size_limits.hpp"

#include <cubinet/kernel_templates/attention_lse_parameters.h>
#include <cubinet/kernel_templates/attention_reduction_parameters.h>

#include <cstring>
#include <numbers>
#include <utility>

namespace cubinet {
namespace {

using kernel_templates::AttentionLseParameters;
using kernel_templates::AttentionReductionParameters;

constexpr const char* kReductionTemplate = "attention_reduction";
constexpr const char* kLseTemplate = "attention_lse";
constexpr std::uint32_t kLseThreads = 256;
constexpr std::uint32_t kLseRowsPerBlock = 2 * kLseThreads;

template <class Parameters>
void store(const Parameters& parameters, std::span<std::byte> argument) {
  std::memcpy(argument.data(), &parameters, sizeof(parameters));
}

class ReductionArguments final : public ArgumentWriter {
 public:
  explicit ReductionArguments(std::shared_ptr<const PublishedLaunch> launch) : launch_(std::move(launch)) {}

  std::size_t size() const override { return sizeof(AttentionReductionParameters); }

  void prepare(std::span<std::byte> argument) const override {
    const AttentionProblem& problem = launch_->problem;
    const LaunchConfiguration& launch = launch_->launch;
    AttentionReductionParameters p{};
    p.softmax_scale_log2 = static_cast<float>(problem.scale() * std::numbers::log2e);
    p.q_len = static_cast<int>(problem.q_len);
    p.heads_q = static_cast<int>(problem.heads_q);
    p.max_splits = static_cast<int>(launch.ctas_kv);
    p.max_kv_tokens = static_cast<int>(problem.kv_len);
    p.tokens_per_tile = static_cast<int>(launch.tokens_per_cta_q);
    p.tiles_q = launch_divisor(launch.ctas_q);
    p.heads_per_tile = launch_divisor(launch.heads_per_cta);
    p.head_dim_tiles = launch_divisor(problem.head_dim_v / launch.reduction->head_dim);
    store(p, argument);
  }

  void write(const AttentionTensors& tensors, std::span<std::byte> argument) const override {
    const AttentionProblem& problem = launch_->problem;
    const WorkspaceSizes& workspace = launch_->workspace;
    AttentionReductionParameters p;
    std::memcpy(&p, argument.data(), sizeof(p));
    p.o = tensors.o.address;
    p.partial_o = tensors.scratch.address + workspace.partial_output_offset;
    p.partial_stats = tensors.scratch.address + workspace.partial_stats_offset;
    p.kv_lengths = tensors.kv_lengths.address;
    if (problem.ragged_q) p.q_offsets = tensors.q_offsets.address;
    if (problem.sinks) p.sinks = tensors.sinks.address;
    if (problem.lse) p.softmax_stats = tensors.scratch.address;
    if (problem.scales_on_device) p.softmax_scale_address = tensors.softmax_scale.address;
    store(p, argument);
  }

 private:
  std::shared_ptr<const PublishedLaunch> launch_;
};

class LseArguments final : public ArgumentWriter {
 public:
  explicit LseArguments(std::uint64_t rows) : rows_(rows) {}

  std::size_t size() const override { return sizeof(AttentionLseParameters); }
  void prepare(std::span<std::byte> argument) const override {
    AttentionLseParameters p{};
    p.rows = static_cast<long long>(rows_);
    store(p, argument);
  }
  void write(const AttentionTensors& tensors, std::span<std::byte> argument) const override {
    AttentionLseParameters p;
    std::memcpy(&p, argument.data(), sizeof(p));
    p.softmax_stats = tensors.scratch.address;
    p.lse = tensors.lse.address;
    store(p, argument);
  }

 private:
  std::uint64_t rows_;
};

PlanStep template_step(const char* name, KernelSpec spec) {
  PlanStep step;
  step.kernel = std::move(spec);
  step.entry_point = name;
  step.starts_early = true;
  return step;
}

PlanStep reduction_step(const std::shared_ptr<const PublishedLaunch>& launch) {
  const ReductionLaunch& reduction = *launch->launch.reduction;
  const auto type = [](DataType value) { return ParameterValue(std::string(to_string(value))); };
  KernelSpec spec{kReductionTemplate, {}};
  spec.set("dtype_q", type(launch->problem.data_type_q))
      .set("dtype_o", type(launch->problem.data_type_o))
      .set("head_dim_per_tile", reduction.head_dim)
      .set("tile_size_q", std::uint32_t{launch->kernel.selector.tile_size_q});
  PlanStep step = template_step(kReductionTemplate, std::move(spec));
  step.grid = reduction.grid;
  step.threads = reduction.threads;
  step.arguments = std::make_shared<const ReductionArguments>(launch);
  return step;
}

PlanStep lse_step(const PublishedLaunch& launch) {
  const std::uint64_t rows = query_tokens(launch.problem) * launch.problem.heads_q;
  PlanStep step = template_step(kLseTemplate, KernelSpec{kLseTemplate, {}});
  step.grid = {static_cast<std::uint32_t>(lse_blocks(launch.problem)), 1, 1};
  step.threads = kLseThreads;
  step.arguments = std::make_shared<const LseArguments>(rows);
  return step;
}

}  // namespace

std::uint64_t lse_blocks(const AttentionProblem& problem) {
  return divide_up(query_tokens(problem) * problem.heads_q, kLseRowsPerBlock);
}

std::vector<PlanStep> following_steps(const std::shared_ptr<const PublishedLaunch>& launch) {
  std::vector<PlanStep> steps;
  if (launch->launch.reduction) steps.push_back(reduction_step(launch));
  if (launch->problem.lse) steps.push_back(lse_step(*launch));
  return steps;
}

}  // namespace cubinet
