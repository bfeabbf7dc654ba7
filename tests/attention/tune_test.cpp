// SPDX-License-Identifier: Apache-2.0
#include "bound_fixture.hpp"

#include <cubinet/attention/tuning.hpp>
#include <cubinet/kernel_templates/attention_prefill_parameters.h>
#include <cubinet/loader/stream.hpp>

#include <atomic>
#include <cstring>

namespace cubinet {
namespace {

using namespace test;

// A device, and a Runtime on it that has the templates of the library.
struct TuneSetting {
  Stub stub;
  TempDir home;
  std::shared_ptr<Runtime> runtime = make_runtime(options());
  std::shared_ptr<const Device> device = ok(runtime->device(0));
  AttentionProblem problem = generation(2, 1, 100, 4, 2, 64, 64);

  RuntimeOptions options() const {
    RuntimeOptions made = device_options(home / "h");
    made.templates = {};
    return made;
  }
  DeviceFacts facts() const {
    const DeviceProperties& properties = device->properties();
    return {properties.capability, properties.multiprocessors, properties.maximum_shared_bytes_per_block};
  }
};

// The model's choice is compiled and timed even with the smallest budget.
constexpr double kNoTime = 1e-6;
const TuneAttentionOptions kQuick{.budget_seconds = kNoTime};

TEST_CASE("what was measured says of what, on which device, and how a plan takes it") {
  const TuneSetting setting;
  if (setting.stub.missing()) return;
  AttentionProblem problem = setting.problem;
  problem.append.emplace();
  const TuningTable::Row row = ok(tune_attention(*setting.runtime, problem, 0, kQuick));
  CHECK(row.batch == problem.batch);
  CHECK(row.kv_len == problem.kv_len);
  CHECK(row.backend == "templates");
  CHECK(row.kernel.name == "attention_decode");
  CHECK(row.driver == static_cast<std::uint32_t>(setting.device->driver()->version()));
  CHECK(row.device.starts_with(setting.device->properties().name + ", "));
  CHECK(row.candidates >= 1);
  CHECK(row.microseconds <= row.modelled_microseconds);
  CHECK(row.measured > 1'700'000'000);
  AvailableKernels kernels;
  TuningTable table;
  table.add(row);
  kernels.use_tuning(table, setting.device->properties().name);
  const auto plan = ok(plan_attention(problem, setting.facts(), kernels, ok(AttentionBackends::builtin())));
  CHECK_FALSE(plan.measured.empty());
  CHECK(std::get<KernelSpec>(plan.steps[plan.attention_step()].kernel) == row.kernel);
}

TEST_CASE("nothing is measured while a stream is being captured") {
  const TuneSetting setting;
  if (setting.stub.missing()) return;
  const Stream stream = ok(Stream::create(setting.device));
  std::optional<Error> refused;
  ok(Graph::capture(stream, [&]() -> Result<void> {
    const auto tuned = tune_attention(*setting.runtime, setting.problem, 0,
                                      {.stream = stream.handle(), .budget_seconds = kNoTime});
    if (!tuned) refused = tuned.error();
    return {};
  }));
  REQUIRE(refused);
  CHECK(refused->code == ErrorCode::busy);
  CHECK(refused->message.find("captured") != std::string::npos);
}

TEST_CASE("all that is measured with lies in the scratch memory, and one that is too small is refused") {
  const TuneSetting setting;
  if (setting.stub.missing()) return;
  const DeviceBuffer small = ok(DeviceBuffer::allocate(setting.device, 4096));
  const auto refused =
      tune_attention(*setting.runtime, setting.problem, 0, {.scratch = small, .budget_seconds = kNoTime});
  CHECK(refused.error().code == ErrorCode::invalid_argument);
  const DeviceBuffer large = ok(DeviceBuffer::allocate(setting.device, 64 << 20));
  const auto before = setting.stub.calls("cuMemAlloc");
  ok(tune_attention(*setting.runtime, setting.problem, 0, {.scratch = large, .budget_seconds = kNoTime}));
  CHECK(setting.stub.calls("cuMemAlloc") == before);
}

TEST_CASE("a candidate whose output is not that of the choice of the model is out") {
  const TuneSetting setting;
  if (setting.stub.missing()) return;
  // The stub computes nothing, so that no output is like another.
  const TuningTable::Row row =
      ok(tune_attention(*setting.runtime, setting.problem, 0, {.budget_seconds = 2}));
  CHECK(row.candidates == 1);
  CHECK(row.splits == 0);
}

TEST_CASE("prompts of e4m3 are compared over V of ones, too, in the same scratch memory") {
  TuneSetting setting;
  if (setting.stub.missing()) return;
  AttentionProblem& problem = setting.problem;
  problem.prefill = true;
  problem.q_len = problem.kv_len;
  problem.data_type_q = problem.data_type_k = problem.data_type_v = DataType::e4m3;
  const DeviceBuffer scratch = ok(DeviceBuffer::allocate(setting.device, 64 << 20));
  const auto allocations = setting.stub.calls("cuMemAlloc");
  const TuneAttentionOptions options{.scratch = scratch, .budget_seconds = 4};
  const TuningTable::Row row = ok(tune_attention(*setting.runtime, problem, 0, options));
  CHECK(setting.stub.calls("cuMemAlloc") == allocations);
  CHECK(row.kernel.name == "attention_prefill_wgmma");
  CHECK(row.candidates == 1);
  // The row serves up to 128 tokens, which are compared first. The problem itself is timed.
  const auto longest_kv = [](const cubinet_stub_launch_record& launch) {
    kernel_templates::AttentionPrefillParameters parameters;
    REQUIRE(launch.argument_bytes >= sizeof(parameters));
    std::memcpy(&parameters, launch.arguments, sizeof(parameters));
    return parameters.max_kv_length;
  };
  const auto made = launches();
  CHECK(longest_kv(made.front()) == 128);
  CHECK(longest_kv(made.back()) == 100);
}

TEST_CASE("a measurement ends when it is cancelled, before and after it has loaded its kernels") {
  const TuneSetting setting;
  if (setting.stub.missing()) return;
  for (const int after : {0, 3, 30}) {
    CAPTURE(after);
    std::atomic<int> asked{0};
    TuneAttentionOptions options;
    options.cancelled = [&] { return asked++ >= after; };
    const auto refused = tune_attention(*setting.runtime, setting.problem, 0, options);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::unavailable);
    CHECK(refused.error().message == "the measurement was cancelled");
  }
}

TEST_CASE("what no backend launches is said as a plan would say it") {
  const TuneSetting setting;
  AttentionProblem problem = setting.problem;
  problem.head_dim_qk = problem.head_dim_v = 112;
  const auto refused = tune_attention(*setting.runtime, problem, 0, kQuick);
  CHECK(refused.error().code == ErrorCode::unsupported);
  CHECK(refused.error().message.find("templates: ") != std::string::npos);
}

}  // namespace
}  // namespace cubinet
