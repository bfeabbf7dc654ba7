// SPDX-License-Identifier: Apache-2.0
#include "decode_timing.hpp"

#include <cubinet/attention/reference_values.hpp>

#include <nlohmann/json.hpp>

#include <iostream>

namespace cubinet::bench {
namespace {

constexpr std::uint32_t kCallsOfGraph = 20;
constexpr int kGraphLaunches = 5;
constexpr std::uint64_t kTimingSeed = 42;

}  // namespace

Result<AttentionInputs> full_length_inputs(const AttentionProblem& problem) {
  return make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::uniform), kTimingSeed);
}

Result<TimedDecode> TimedDecode::create(const std::shared_ptr<const Device>& device, Runtime& runtime,
                                        const AttentionPlan& plan, const AttentionInputs& inputs) {
  const AttentionProblem& problem = plan.request.problem;
  CUBINET_TRY_ASSIGN(BoundAttention attention, BoundAttention::bind(runtime, plan, device->ordinal()));
  const double kv_bytes = attention_work(problem, inputs.kv_lengths, inputs.q_lengths).kv_bytes;
  CUBINET_TRY_ASSIGN(TensorBuffers buffers,
                     TensorBuffers::create(device, problem, inputs, attention.plan().workspace,
                                           cold_copies(kv_bytes, kCallsOfGraph)));
  const auto record = [&](std::uint32_t run, CUstream stream) {
    return attention.run(buffers.tensors(run % buffers.copies()), stream);
  };
  CUBINET_TRY_ASSIGN(TimedRuns runs, TimedRuns::capture(device, kCallsOfGraph, record));
  return TimedDecode(std::move(attention), std::move(buffers), std::move(runs));
}

Result<double> TimedDecode::seconds_a_call() const {
  return runs_.seconds_a_run(kGraphLaunches);
}

Result<void> serve_decode_times(const Settings& settings) {
  CUBINET_TRY_ASSIGN(RuntimeOptions options, runtime_options(settings, {}));
  CUBINET_TRY_ASSIGN(const std::shared_ptr<Runtime> runtime, Runtime::create(std::move(options)));
  CUBINET_TRY_ASSIGN(const std::shared_ptr<const Device> device, runtime->device(settings.device));
  std::vector<std::pair<std::string, TimedDecode>> timed;
  for (const NamedProblem& named : llama_problems()) {
    CUBINET_TRY_ASSIGN(const AttentionInputs inputs, full_length_inputs(named.problem));
    CUBINET_TRY_ASSIGN(const AttentionPlan plan, plan_decode_on(*device, named.problem));
    CUBINET_TRY_ASSIGN(TimedDecode created, TimedDecode::create(device, *runtime, plan, inputs));
    timed.emplace_back(named.name, std::move(created));
  }
  for (std::string line; std::getline(std::cin, line);) {
    nlohmann::json answer = nlohmann::json::object();
    for (const auto& [name, decode] : timed) {
      CUBINET_TRY_ASSIGN(const double seconds, decode.seconds_a_call());
      answer[name] = seconds * 1e6;
    }
    std::cout << answer.dump() << std::endl;
  }
  return {};
}

}  // namespace cubinet::bench
