// SPDX-License-Identifier: Apache-2.0
#include "benchmarks.hpp"
#include "decode_timing.hpp"

namespace cubinet::bench {
namespace {

struct StepCase {
  const char* name;
  std::uint32_t batch;
  std::uint32_t kv_len;
  std::uint32_t head_dim;
  std::optional<double> goal;  // e4m3 : bf16, for the whole step
};
constexpr StepCase kSteps[] = {{"batch 64, KV 8192, head dim 128", 64, 8192, 128, 0.60},
                               {"batch 64, KV 8192, head dim 64", 64, 8192, 64, 0.75},
                               {"batch 16, KV 4096, head dim 128", 16, 4096, 128, std::nullopt},
                               {"batch 1, KV 4096, head dim 128", 1, 4096, 128, std::nullopt}};

AttentionProblem problem_of(const StepCase& step, DataType kv) {
  AttentionProblem problem;
  problem.batch = step.batch;
  problem.kv_len = step.kv_len;
  problem.heads_q = 64;
  problem.heads_kv = 8;
  problem.head_dim_qk = problem.head_dim_v = step.head_dim;
  problem.data_type_k = problem.data_type_v = kv;
  problem.append.emplace().rope_dim = step.head_dim;
  return problem;
}

class StepBench {
 public:
  static Result<StepBench> create(const Settings& settings) {
    StepBench bench(settings.rounds);
    CUBINET_TRY_ASSIGN(RuntimeOptions options, runtime_options(settings, {}));
    CUBINET_TRY_ASSIGN(bench.runtime_, Runtime::create(std::move(options)));
    CUBINET_TRY_ASSIGN(bench.device_, bench.runtime_->device(settings.device));
    return bench;
  }

  Result<void> run(const StepCase& step, Report& report) const {
    std::vector<TimedDecode> timed;
    std::vector<std::string> names;
    for (const DataType kv : {DataType::e4m3, DataType::bf16}) {
      const AttentionProblem problem = problem_of(step, kv);
      CUBINET_TRY_ASSIGN(const AttentionInputs inputs, full_length_inputs(problem));
      const auto add = [&](const std::string& what, const AttentionPlan& plan) -> Result<void> {
        CUBINET_TRY_ASSIGN(TimedDecode made, TimedDecode::create(device_, *runtime_, plan, inputs));
        timed.push_back(std::move(made));
        names.push_back(std::string(to_string(kv)) + ", " + what);
        return {};
      };
      CUBINET_TRY_ASSIGN(AttentionPlan plan, plan_decode_on(*device_, problem));
      CUBINET_TRY(add("step", plan));
      plan.steps[plan.attention_step()].starts_early = false;
      CUBINET_TRY(add("step, no programmatic launch", plan));
      AttentionProblem alone = problem;
      alone.append.reset();
      CUBINET_TRY_ASSIGN(plan, plan_decode_on(*device_, alone));
      CUBINET_TRY(add("attention alone", plan));
    }
    std::vector<Contender> contenders;
    for (std::size_t i = 0; i < timed.size(); ++i)
      contenders.push_back({names[i], [&timed, i] { return timed[i].seconds_a_call(); }});
    CUBINET_TRY_ASSIGN(const Rounds rounds, run_rounds(contenders, rounds_));
    nlohmann::json row = report.rounds_row(step.name, rounds, "us");
    constexpr std::size_t kOfType = 3;  // contenders per type
    Report::add_ratio(row, rounds, 0, kOfType, step.goal);
    for (const std::size_t first : {std::size_t{0}, kOfType}) {
      Report::add_ratio(row, rounds, first, first + 1, std::nullopt);
      Report::add_ratio(row, rounds, first, first + 2, std::nullopt);
    }
    report.add(std::move(row));
    return {};
  }

 private:
  explicit StepBench(int rounds) : rounds_(rounds) {}

  int rounds_;
  std::shared_ptr<Runtime> runtime_;
  std::shared_ptr<const Device> device_;
};

}  // namespace

Result<void> bench_step(const Settings& settings, Report& report) {
  report.set(
      "method",
      "64 query and 8 KV heads, pages of 64, one new token a sequence, rotated; CUDA graph of 20 steps over "
      "KV caches of 256 MB and more in turn, each step behind the one before it has ended");
  CUBINET_TRY_ASSIGN(const StepBench bench, StepBench::create(settings));
  for (const StepCase& step : kSteps)
    CUBINET_TRY(bench.run(step, report));
  return {};
}

}  // namespace cubinet::bench
