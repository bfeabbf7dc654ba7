// SPDX-License-Identifier: Apache-2.0
#include "published_bench.hpp"

#include "attention/stand_in/stand_in_home.hpp"
#include "attention/stand_in/stand_in_rows.hpp"
#include "decode_problems.hpp"
#include "launch_timing.hpp"

#include <iostream>

namespace cubinet::bench {
namespace {

using test::StandInCase;
using test::StandInHome;

constexpr ComputeCapability kStandInDevice{9, 0};
constexpr std::uint16_t kTile = 8;
// New tensors differ from earlier ones in the strides of a tensor that the problem does not have,
// so they are not checked.
constexpr std::int64_t kManyTensors = 4096;

AttentionProblem short_problem() {
  AttentionProblem problem;
  problem.heads_q = 8;
  problem.kv_len = 128;
  return problem;
}

Result<BoundAttention> bind_published(const Settings& settings, const StandInHome& home,
                                      const StandInCase& measured, const Device& device) {
  const DeviceProperties& properties = device.properties();
  CUBINET_TRY_ASSIGN(const AttentionBackends backends, AttentionBackends::builtin());
  CUBINET_TRY_ASSIGN(const AvailableKernels kernels, home.kernels(measured.rows));
  PlanOptions options;
  options.backend = kPublishedBackend;
  CUBINET_TRY_ASSIGN(const AttentionPlan plan,
                     plan_attention(measured.problem,
                                    {properties.capability, properties.multiprocessors,
                                     properties.maximum_shared_bytes_per_block},
                                    kernels, backends, options));
  return BoundAttention::bind(*home.runtime(), plan, settings.device);
}

// Fills in the tensors that either of the two needs, for both.
Result<TensorBuffers> buffers_of(const std::shared_ptr<const Device>& device, const AttentionProblem& problem,
                                 const BoundAttention& attention) {
  CUBINET_TRY_ASSIGN(
      const AttentionInputs inputs,
      make_attention_inputs(problem, {static_cast<std::int32_t>(problem.kv_len)}, 1));  // seed 1
  return TensorBuffers::create(device, problem, inputs, attention.plan().workspace);
}

}  // namespace

Result<void> add_published(const Settings& settings, Runtime& runtime, const BareDriverApi& api,
                           Report& report) {
  CUBINET_TRY_ASSIGN(const std::shared_ptr<const Device> device, runtime.device(settings.device));
  if (device->properties().capability != kStandInDevice) {
    std::cerr << "attention, published: left out, the kernel that stands in for published ones is for a "
                 "device of 9.0, and "
              << device->properties().to_string() << " is another\n";
    return {};
  }
  const AttentionProblem problem = short_problem();
  const StandInCase measured = test::decode_case("short", problem, kTile);
  const std::filesystem::path folder = fresh_path(settings, "stand_in");
  std::filesystem::create_directories(folder);
  CUBINET_TRY_ASSIGN(const StandInHome home, StandInHome::create(folder, measured.rows, settings.compiler));
  CUBINET_TRY_ASSIGN(const BoundAttention published, bind_published(settings, home, measured, *device));
  CUBINET_TRY_ASSIGN(const AttentionPlan plan, plan_decode_on(*device, problem, 1));
  CUBINET_TRY_ASSIGN(const BoundAttention ours, BoundAttention::bind(runtime, plan, settings.device));
  CUBINET_TRY_ASSIGN(const TensorBuffers published_buffers, buffers_of(device, problem, published));
  CUBINET_TRY_ASSIGN(const TensorBuffers our_buffers, buffers_of(device, problem, ours));
  AttentionTensors published_tensors = published_buffers.tensors();
  AttentionTensors our_tensors = our_buffers.tensors();
  published_tensors.lse = our_tensors.lse = {};
  AttentionTensors moving = published_tensors;
  const auto run_ours = [&] { return time_launches(api, [&] { return ours.run(our_tensors, nullptr); }); };
  const std::vector<Contender> contenders = {
      {"our template, run()", run_ours},
      {"published, run()",
       [&] { return time_launches(api, [&] { return published.run(published_tensors, nullptr); }); }},
      {"published, run(), other tensors each time",
       [&] {
         return time_launches(api, [&] {
           moving.sinks.strides[0] = (moving.sinks.strides[0] + 1) % kManyTensors;
           return published.run(moving, nullptr);
         });
       }},
      {"our template, run(), again", run_ours},
  };
  CUBINET_TRY_ASSIGN(const Rounds rounds, run_rounds(contenders, settings.rounds));
  nlohmann::json row = report.rounds_row("attention, published", rounds, "ns");
  row["kernels"] = {{"published", published.functions().size()}, {"template", ours.functions().size()}};
  Report::add_ratio(row, rounds, 1, 0, 1.3);
  Report::add_ratio(row, rounds, 2, 0, std::nullopt);
  // the spread of two measurements of the same thing
  Report::add_ratio(row, rounds, 3, 0, std::nullopt);
  report.add(std::move(row));
  return {};
}

}  // namespace cubinet::bench
