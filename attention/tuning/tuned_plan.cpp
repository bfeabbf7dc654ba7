// SPDX-License-Identifier: Apache-2.0
#include "tuning/tuned_plan.hpp"

#include "append/append_step.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <ctime>

namespace cubinet {
namespace {

ParameterValue name_of(std::string_view value) {
  return ParameterValue(std::string(value));
}

// Returns a time with one decimal, for example 41.5.
std::string rounded(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

std::string date_of(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts)};
}

// Returns whether every sequence is long enough for the measured splits. Sequences shorter than the
// bucket's would not use the splits, and neither would several sequences of unknown lengths.
bool all_are_long(const AttentionProblem& problem) {
  if (problem.kv_lengths.empty()) return problem.batch == 1;
  return std::all_of(problem.kv_lengths.begin(), problem.kv_lengths.end(), [&](std::int32_t length) {
    return std::int64_t{2} * length > static_cast<std::int64_t>(std::bit_ceil(std::uint64_t{problem.kv_len}));
  });
}

bool may_use_tuning(const PlanOptions& options, const AttentionProblem& problem) {
  return options.uses_tuning && !options.kernel && !options.splits && !options.split_tokens &&
         !options.assumes_all_kernels && problem.attends();
}

// Returns the plan of a row's choice, or an error with the reason why there is none.
Result<AttentionPlan> plan_of_row(const TuningTable::Row& row, const PlanRequest& request,
                                  const AttentionBackends& backends) {
  const AttentionBackend* backend = backends.find(row.backend);
  if (backend == nullptr)
    return Error{ErrorCode::unsupported, "there is no attention backend '" + row.backend + "'"};
  PlanRequest chosen = request;
  chosen.options = options_of(row, request);
  CUBINET_TRY_ASSIGN(PlanDecision answer, consider(*backend, chosen));
  if (const auto* decline = std::get_if<BackendDecline>(&answer))
    return Error{ErrorCode::unsupported, decline->reason};
  auto& plan = std::get<AttentionPlan>(answer);
  if (request.options.launches && !plan.launchable())
    return Error{ErrorCode::unsupported, plan.not_launchable};
  if (plan.kernel_version != row.version) {
    return Error{ErrorCode::unsupported, "it was measured of another version of the kernel: " + row.version +
                                             ", and it is " + plan.kernel_version + " now"};
  }
  plan.request = std::move(chosen);
  plan.backend = backend->shared_from_this();
  plan.measured = describe(row);
  return std::move(plan);
}

}  // namespace

std::string tuning_problem(const AttentionProblem& problem) {
  KernelSpec values{problem.is_mla_generation() ? "latent" : problem.prefill ? "prefill" : "decode", {}};
  // Prompts of lengths that round up to the same power of two share a row, as KV lengths do.
  values.set("q_len", problem.prefill ? std::bit_ceil(std::uint64_t{problem.q_len}) : problem.q_len)
      .set("heads_q", problem.heads_q)
      .set("heads_kv", problem.heads_kv)
      .set("head_dim_qk", problem.head_dim_qk)
      .set("head_dim_v", problem.head_dim_v)
      .set("dtype_q", name_of(to_string(problem.data_type_q)))
      .set("dtype_k", name_of(to_string(problem.data_type_k)))
      .set("dtype_v", name_of(to_string(problem.data_type_v)))
      .set("dtype_o", name_of(to_string(problem.data_type_o)))
      .set("layout", name_of(to_string(problem.layout)))
      .set("page_size", problem.tokens_per_page)
      .set("order", problem.kv_order == KvOrder::hnd ? "hnd" : "nhd")
      .set("separate_page_tables", problem.separate_page_tables)
      .set("ragged_q", problem.ragged_q)
      .set("soft_cap", problem.soft_cap.has_value())
      .set("window", problem.is_windowed() ? std::bit_ceil(std::uint64_t{problem.window}) : 0U);
  // A causal mask hides nothing from a single query token.
  const bool causal = problem.mask == AttentionMask::dense && problem.q_len == 1;
  values.set("mask", name_of(to_string(causal ? AttentionMask::causal : problem.mask)));
  if (problem.chunk != kUnlimited) values.set("chunk", problem.chunk);
  if (problem.sparse != SparseAttention::none)
    values.set("sparse", static_cast<int>(problem.sparse)).set("top_k", problem.top_k);
  if (problem.skips_softmax) values.set("skips_softmax", true);
  if (problem.is_invariant()) values.set("numerics", name_of(to_string(problem.numerics)));
  if (problem.sage_block != decltype(problem.sage_block){}) {
    values.set("sage_block", std::vector<std::int64_t>(problem.sage_block.begin(), problem.sage_block.end()));
  }
  return values.to_string();
}

std::string tuning_device(std::string_view name, const DeviceFacts& device) {
  return std::string(name) + ", " + device.capability.to_string() + ", " + std::to_string(device.sm_count) +
         " multiprocessors";
}

AttentionProblem longest_served(AttentionProblem problem) {
  const std::uint32_t measured = problem.kv_len;
  problem.kv_len = std::bit_ceil(measured);
  if (problem.is_windowed()) problem.window = std::min(std::bit_ceil(problem.window), kUnlimited);
  const std::uint64_t tokens = std::uint64_t{problem.batch} * measured;
  problem.batch = std::max(1U, static_cast<std::uint32_t>(tokens / problem.kv_len));
  problem.kv_lengths.assign(problem.batch, static_cast<std::int32_t>(problem.kv_len));
  return problem;
}

PlanOptions options_of(const TuningTable::Row& row, const PlanRequest& request) {
  PlanOptions options = request.options;
  if (!row.kernel.name.empty()) options.kernel = row.kernel;
  if (row.splits != 0 && row.batch == request.problem.batch && all_are_long(request.problem))
    options.splits = row.splits;
  return options;
}

std::string describe(const TuningTable::Row& row) {
  return "measured " + date_of(row.measured) + " on " + row.device + ", driver " +
         std::to_string(row.driver / 1000) + "." + std::to_string(row.driver % 1000 / 10) + ": " +
         rounded(row.microseconds) + " us where the model's choice takes " +
         rounded(row.modelled_microseconds);
}

std::optional<AttentionPlan> tuned_plan(const PlanRequest& request, const AttentionBackends& backends,
                                        std::vector<std::string>& passed_over) {
  const TuningTable& table = request.kernels.tuning();
  if (table.empty() || !may_use_tuning(request.options, request.problem)) return std::nullopt;
  const std::string& wanted = request.options.backend;
  for (const TuningTable::Row* row :
       table.find(tuning_problem(request.problem), request.problem.batch, request.problem.kv_len,
                  tuning_device(request.kernels.device_name(), request.device))) {
    if (wanted != kAutomaticBackend && wanted != row->backend) continue;
    auto plan = plan_of_row(*row, request, backends);
    if (plan) return *std::move(plan);
    passed_over.push_back(describe(*row) + "; not used: " + plan.error().message);
  }
  return std::nullopt;
}

}  // namespace cubinet
