// SPDX-License-Identifier: Apache-2.0
#include "append_step.hpp"

#include "append_arguments.hpp"
#include "rounding.hpp"
#include "size_limits.hpp"

#include <algorithm>

namespace cubinet {
namespace {

constexpr const char* kAppendTemplate = "attention_append";
constexpr std::uint32_t kAppendThreads = 128;  // threads of a block, as in the template
// An attention kernel that runs for longer starts when the append has ended. An early start gains
// about 2 us, but blocks that are placed beside running blocks of the append may be distributed
// unevenly (docs/kernels.md).
constexpr double kLongMicroseconds = 100;

KernelSpec append_specification(const AttentionProblem& problem) {
  const AttentionProblem::Append& append = *problem.append;
  const auto type = [](DataType value) { return ParameterValue(std::string(to_string(value))); };
  KernelSpec spec{kAppendTemplate, {}};
  spec.set("dtype", type(append.data_type))
      .set("dtype_q", type(problem.data_type_q))
      .set("dtype_kv", type(problem.data_type_k))
      .set("rope", append.rope_dim == 0 ? "none"
                   : append.interleaved ? "interleaved"
                                        : "halves");
  return spec;
}

Result<PlanStep> append_step(const PlanRequest& request) {
  const AttentionProblem& problem = request.problem;
  const auto arguments = std::make_shared<const AppendArguments>(problem);
  const std::uint64_t rows = 2ULL * problem.heads_kv + (problem.appends_q() ? problem.heads_q : 0);
  const std::uint64_t threads =
      rows * static_cast<std::uint64_t>(arguments->parameters().row_threads.divisor);
  const std::uint64_t blocks = divide_up(threads, kAppendThreads);
  if (blocks > kMaximumGridYz) {
    return Error{ErrorCode::unsupported,
                 "append: " + std::to_string(rows) + " heads of K, V and Q make a grid beyond CUDA's limit"};
  }
  // The offsets of ragged_q are int32, so only they bound the tokens of a ragged batch.
  if (const std::uint64_t tokens = query_tokens(problem); !problem.ragged_q && tokens > kLargestCount) {
    return Error{ErrorCode::unsupported,
                 "append: `AttentionProblem::batch` " + std::to_string(problem.batch) +
                     " times `AttentionProblem::q_len` " + std::to_string(problem.q_len) + " is " +
                     std::to_string(tokens) + " tokens, and the kernel counts to 2^31 - 1",
                 "append fewer tokens at a time"};
  }
  PlanStep step;
  step.kernel = append_specification(problem);
  step.entry_point = kAppendTemplate;
  step.grid = {problem.q_len, static_cast<std::uint32_t>(blocks), problem.batch};
  step.threads = kAppendThreads;
  step.starts_early = request.options.starts_early;
  step.arguments = arguments;
  return step;
}

class AppendAlone final : public AttentionBackend {
 public:
  std::string_view name() const override { return "append"; }
  Result<PlanDecision> consider(const PlanRequest& request) const override {
    CUBINET_TRY_ASSIGN(PlanStep step, append_step(request));
    AttentionPlan plan;
    plan.steps.push_back(std::move(step));
    plan.rules.reads_offsets = request.problem.ragged_q;
    return PlanDecision(std::move(plan));
  }
};

}  // namespace

Result<PlanDecision> consider(const AttentionBackend& backend, const PlanRequest& request) {
  if (!request.problem.append || !request.problem.attends()) return backend.consider(request);
  CUBINET_TRY_ASSIGN(PlanStep step, append_step(request));
  PlanRequest following = request;
  following.options.starts_early = true;
  CUBINET_TRY_ASSIGN(PlanDecision answer, backend.consider(following));
  if (auto* plan = std::get_if<AttentionPlan>(&answer)) {
    if (plan->cost.in_microseconds && plan->cost.time > kLongMicroseconds)
      plan->steps.front().starts_early = false;
    plan->steps.insert(plan->steps.begin(), std::move(step));
  }
  return answer;
}

std::shared_ptr<const AttentionBackend> append_alone() {
  static const auto kAlone = std::make_shared<const AppendAlone>();
  return kAlone;
}

}  // namespace cubinet
