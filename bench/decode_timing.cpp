// SPDX-License-Identifier: Apache-2.0
#include "decode_timing.hpp"

#include <cubinet/attention/reference_values.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>

namespace cubinet::bench {
namespace {

constexpr std::uint32_t kCallsOfGraph = 20;
constexpr int kGraphLaunches = 5;
constexpr std::uint64_t kColdBytes = std::uint64_t{256} << 20;
constexpr std::uint64_t kTimingSeed = 42;

// A divisor of the graph's calls, so that the turns go on evenly from one launch of the graph to the next: of
// 16 copies the first 4 would be read again after 4 calls.
std::uint32_t copies_for(std::uint64_t kv_bytes) {
  const std::uint64_t needed = (kColdBytes + kv_bytes - 1) / kv_bytes;
  auto copies = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(needed, 1, kCallsOfGraph));
  while (kCallsOfGraph % copies != 0)
    ++copies;
  return copies;
}

}  // namespace

Result<AttentionInputs> full_length_inputs(const AttentionProblem& problem) {
  return make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::uniform), kTimingSeed);
}

Result<TimedDecode> TimedDecode::create(const std::shared_ptr<const Device>& device, Runtime& runtime,
                                        const AttentionPlan& plan, const AttentionInputs& inputs) {
  const AttentionProblem& problem = plan.request.problem;
  CUBINET_TRY_ASSIGN(BoundAttention attention, BoundAttention::bind(runtime, plan, device->ordinal()));
  const std::uint64_t kv_bytes = (inputs.k.size() + inputs.v.size()) * bits_of(problem.data_type_k) / 8;
  CUBINET_TRY_ASSIGN(
      TensorBuffers buffers,
      TensorBuffers::create(device, problem, inputs, attention.plan().workspace, copies_for(kv_bytes)));
  CUBINET_TRY_ASSIGN(Stream stream, Stream::create(device));
  const auto record = [&]() -> Result<void> {
    for (std::uint32_t i = 0; i < kCallsOfGraph; ++i) {
      CUBINET_TRY(attention.run(buffers.tensors(i % buffers.copies()), stream.handle()));
    }
    return {};
  };
  CUBINET_TRY_ASSIGN(Graph graph, Graph::capture(stream, record));
  CUBINET_TRY_ASSIGN(Event start, Event::create(device));
  CUBINET_TRY_ASSIGN(Event end, Event::create(device));
  return TimedDecode(std::move(attention), std::move(buffers), std::move(stream), std::move(graph),
                     std::move(start), std::move(end));
}

Result<double> TimedDecode::seconds_a_call() const {
  CUBINET_TRY(graph_.launch(stream_));
  CUBINET_TRY(start_.record(stream_));
  for (int i = 0; i < kGraphLaunches; ++i)
    CUBINET_TRY(graph_.launch(stream_));
  CUBINET_TRY(end_.record(stream_));
  CUBINET_TRY(end_.synchronize());
  CUBINET_TRY_ASSIGN(const float milliseconds, end_.milliseconds_since(start_));
  return static_cast<double>(milliseconds) / 1e3 / (kCallsOfGraph * kGraphLaunches);
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
