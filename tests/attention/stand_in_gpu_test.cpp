// SPDX-License-Identifier: Apache-2.0
// Compares a launch of a published kernel with float64, through a kernel that takes the same
// argument: tensor maps, page tables, lengths, offsets, scales, sinks, windows, statistics,
// counters. Needs a GPU of 9.0 and NVRTC.
#include "attention/stand_in/stand_in_home.hpp"
#include "attention/stand_in/stand_in_rows.hpp"
#include "support/compiler_search.hpp"
#include "support/ok.hpp"
#include "support/skip.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/attention/backend.hpp>
#include <cubinet/attention/reference_values.hpp>
#include <cubinet/loader/stream.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cubinet {
namespace {

using test::ok;
using test::StandInCase;
using test::StandInHome;

constexpr std::uint64_t kSeed = 11;
constexpr double kTolerance = 4e-3;  // per row: twice the error of rounding to bf16
constexpr double kLseTolerance = 1e-3;

// The device and the kernels of some cases.
struct Setting {
  std::unique_ptr<test::TempDir> folder;
  StandInHome home;
  std::shared_ptr<const Device> device;

  // Returns nullopt and skips the test with the reason if no device runs the kernels.
  static std::optional<Setting> open(const std::vector<StandInCase>& cases) {
    const auto device = ok(Runtime::create({}))->device(0);
    if (!device) {
      test::skip(device.error().to_line());
      return std::nullopt;
    }
    const DeviceProperties& properties = (*device)->properties();
    if (properties.capability != ComputeCapability{9, 0}) {
      test::skip("the stand-in is compiled for sm_90a, and " + properties.to_string() + " is another device");
      return std::nullopt;
    }
    std::vector<KernelRow> rows;
    for (const StandInCase& tested : cases)
      rows.insert(rows.end(), tested.rows.begin(), tested.rows.end());
    auto folder = std::make_unique<test::TempDir>();
    StandInHome home = ok(StandInHome::create(folder->path(), std::move(rows), test::compiler_search()));
    auto opened = ok(home.runtime()->device(0));
    return Setting{std::move(folder), std::move(home), std::move(opened)};
  }

  BoundAttention bind(const StandInCase& tested) const {
    const DeviceProperties& properties = device->properties();
    PlanOptions options;
    options.backend = kPublishedBackend;
    options.starts_early = true;
    const AttentionPlan plan = ok(plan_attention(
        tested.problem,
        {properties.capability, properties.multiprocessors, properties.maximum_shared_bytes_per_block},
        ok(home.kernels(tested.rows)), ok(AttentionBackends::builtin()), options));
    return ok(BoundAttention::bind(*home.runtime(), plan, 0));
  }
};

AttentionTensors tensors_of(const TensorBuffers& buffers, const AttentionProblem& problem) {
  AttentionTensors tensors = buffers.tensors();
  if (!problem.lse) tensors.lse = {};
  return tensors;
}

void compare(const AttentionProblem& problem, const AttentionInputs& inputs, const TensorBuffers& buffers) {
  const std::vector<float> lse = problem.lse ? ok(buffers.lse()) : std::vector<float>();
  const AttentionDeviation error =
      ok(compare_attention(problem, ok(attention_reference(problem, inputs)), ok(buffers.output()), lse));
  CAPTURE(error.worst_index);
  CHECK(error.worst_row < kTolerance);
  CHECK(error.worst_lse < kLseTolerance);
}

// Runs each case twice. The second run finds the first run's data in the workspace.
void check(const Setting& setting, const StandInCase& tested) {
  CAPTURE(tested.name);
  const AttentionProblem& problem = tested.problem;
  const BoundAttention attention = setting.bind(tested);
  const AttentionPlan& plan = attention.plan();
  CAPTURE(plan.row.function_name);
  CAPTURE(plan.division.kv_splits);
  const AttentionInputs inputs =
      ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::borders), kSeed));
  const TensorBuffers buffers = ok(TensorBuffers::create(setting.device, problem, inputs, plan.workspace));
  const AttentionTensors tensors = tensors_of(buffers, problem);
  const Stream stream = ok(Stream::create(setting.device));
  ok(attention.check(tensors));
  for (int run = 0; run < 2; ++run) {
    CAPTURE(run);
    ok(buffers.poison(/*scratch=*/true));
    ok(attention.run(tensors, stream.handle()));
    ok(stream.synchronize());
    compare(problem, inputs, buffers);
  }
}

void check_all(const std::vector<StandInCase>& cases) {
  const auto setting = Setting::open(cases);
  if (!setting) return;
  for (const StandInCase& tested : cases)
    check(*setting, tested);
}

TEST_CASE("Decode through the argument of published kernels agrees with float64, split or not") {
  check_all(test::decode_cases());
}

TEST_CASE("Tokens and heads share tiles of Q as their tensor map says") {
  check_all(test::grouping_cases());
}

TEST_CASE("Pages of every size and order are found by their tables, those of V by their own") {
  check_all(test::page_cases());
}

TEST_CASE("Sinks, scales, windows, ragged queries and the log sum exp reach the kernel") {
  check_all(test::option_cases());
}

TEST_CASE("Prefill over pages agrees with float64") {
  check_all(test::paged_context_cases());
}

TEST_CASE("Prefill over sequences side by side agrees with float64") {
  check_all(test::separate_context_cases());
}

TEST_CASE("Latent decode agrees with float64, with V in one part or in several") {
  check_all(test::latent_cases());
}

TEST_CASE("Splits of latent decode are joined by a launch of its own") {
  check_all(test::separate_reduction_cases());
}

TEST_CASE("A graph of a published launch is replayed with other lengths") {
  const std::vector<StandInCase> cases = {test::decode_cases().front()};
  const auto setting = Setting::open(cases);
  if (!setting) return;
  const AttentionProblem& problem = cases[0].problem;
  const BoundAttention attention = setting->bind(cases[0]);
  CHECK(attention.plan().division.kv_splits > 1);
  AttentionInputs inputs =
      ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::uniform), kSeed));
  const TensorBuffers buffers =
      ok(TensorBuffers::create(setting->device, problem, inputs, attention.plan().workspace));
  const AttentionTensors tensors = tensors_of(buffers, problem);
  const Stream stream = ok(Stream::create(setting->device));
  const Graph graph = ok(Graph::capture(stream, [&] { return attention.run(tensors, stream.handle()); }));
  for (const std::int32_t shorter : {0, 1, 64, 333}) {
    CAPTURE(shorter);
    for (std::int32_t& length : inputs.kv_lengths)
      length = std::max(length - shorter, 0);
    ok(buffers.set_kv_lengths(inputs.kv_lengths));
    ok(buffers.poison(/*scratch=*/true));
    ok(graph.launch(stream));
    ok(stream.synchronize());
    compare(problem, inputs, buffers);
  }
}

TEST_CASE("Pools and queries with strides of their own are read where they lie") {
  const StandInCase by_head = test::page_cases()[4];
  const auto setting = Setting::open({by_head});
  if (!setting) return;
  // The plan has this order. The strides of the tensors override it.
  StandInCase by_token = by_head;
  by_token.problem.kv_order = KvOrder::nhd;
  const BoundAttention attention = setting->bind(by_token);
  const AttentionProblem& problem = by_head.problem;
  const AttentionInputs inputs =
      ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::borders), kSeed));
  const TensorBuffers buffers =
      ok(TensorBuffers::create(setting->device, problem, inputs, attention.plan().workspace));
  AttentionTensors tensors = tensors_of(buffers, problem);
  const std::int64_t row = problem.head_dim_v;
  const std::int64_t page = problem.tokens_per_page;
  tensors.k.strides = tensors.v.strides = {problem.heads_kv * page * row, row, page * row};
  const Stream stream = ok(Stream::create(setting->device));
  ok(attention.run(tensors, stream.handle()));
  ok(stream.synchronize());
  compare(problem, inputs, buffers);
}

}  // namespace
}  // namespace cubinet
