// SPDX-License-Identifier: Apache-2.0
#include "bound_fixture.hpp"
#include "support/allocation_count.hpp"
#include "support/text.hpp"

#include <cubinet/attention/reference_values.hpp>
#include <cubinet/attention/workspace.hpp>
#include <cubinet/loader/stream.hpp>

#include <atomic>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

namespace cubinet {
namespace {

using namespace test;

ScaleArgument argument_of(const cubinet_stub_launch_record& launch) {
  ScaleArgument argument{};
  REQUIRE(launch.argument_bytes == sizeof(argument));
  std::memcpy(&argument, launch.arguments, sizeof(argument));
  return argument;
}

TEST_CASE("a run launches every step of a plan of a backend from outside, in order, on the stream") {
  const BoundSetting setting;
  if (setting.stub.missing()) return;
  const BoundAttention attention = setting.bind();
  const Stream stream = ok(Stream::create(setting.device));
  ok(attention.run(setting.buffers.tensors(), stream.handle()));
  const auto made = launches();
  REQUIRE(made.size() == 2);
  CHECK(std::string(made[0].kernel) == "scale");
  CHECK(std::string(made[1].kernel) == "scale_twice");
  CHECK(made[0].block[0] == 128);
  CHECK(made[1].block[0] == 64);
  for (const auto& launch : made) {
    CHECK(launch.stream == stream.handle());
    CHECK(argument_of(launch).count == 77);
    CHECK(argument_of(launch).data == setting.buffers.tensors().o.address);
  }
}

TEST_CASE("a plan of the templates launches the kernel, and the combination where tiles are split") {
  BoundSetting setting;
  if (setting.stub.missing()) return;
  RuntimeOptions options = device_options(setting.home / "builtin");
  options.templates = {};
  const auto runtime = make_runtime(std::move(options));
  AttentionProblem problem = setting.problem;
  problem.kv_len = 1000;  // more than one step of the kernel
  const AttentionInputs inputs =
      ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::uniform), 1));
  const auto planned = [&](std::uint32_t splits) {
    PlanOptions wishes;
    wishes.splits = splits;
    return ok(plan_attention(problem, setting.facts(), {}, ok(AttentionBackends::builtin()), wishes));
  };
  const AttentionPlan plan = planned(5);
  const BoundAttention attention = ok(BoundAttention::bind(*runtime, plan, 0));
  const TensorBuffers buffers = ok(TensorBuffers::create(setting.device, problem, inputs, plan.workspace));
  ok(attention.check(buffers.tensors()));
  ok(attention.run(buffers.tensors(), nullptr));
  const auto made = launches();
  REQUIRE(made.size() == 2);
  CHECK(std::string(made[0].kernel) == "attention_decode");
  CHECK(std::string(made[1].kernel) == "attention_combine");
  CHECK(made[0].grid[0] == plan.steps[0].grid[0]);
  CHECK(made[0].dynamic_shared_bytes == plan.steps[0].shared_bytes);
  CHECK(made[0].programmatic == 0);
  CHECK(made[1].programmatic == 1);
  CHECK(std::memcmp(made[0].arguments, made[1].arguments, made[0].argument_bytes) == 0);
  AttentionTensors without = buffers.tensors();
  without.scratch = {};
  CHECK(attention.run(without, nullptr).error().code == ErrorCode::invalid_argument);
  CHECK(launches().size() == 2);

  const AttentionPlan whole = planned(1);
  const BoundAttention unsplit = ok(BoundAttention::bind(*runtime, whole, 0));
  const TensorBuffers counted = ok(TensorBuffers::create(setting.device, problem, inputs, whole.workspace));
  ok(unsplit.run(counted.tensors(), nullptr));
  CHECK(launches().size() == 3);
  without = counted.tensors();
  without.counters = {};
  CHECK(unsplit.run(without, nullptr).error().code == ErrorCode::invalid_argument);

  const AttentionWorkspace workspace = ok(unsplit.make_workspace());
  without.scratch = {};
  workspace.attach(without);
  CHECK(without.scratch.bytes == whole.workspace.scratch_bytes);
  CHECK(without.counters.bytes == whole.workspace.counter_bytes);
  ok(unsplit.run(without, nullptr));
  CHECK(launches().size() == 4);
}

TEST_CASE("a buffer converts to a contiguous tensor of all its bytes") {
  const BoundSetting setting;
  if (setting.stub.missing()) return;
  const DeviceBuffer buffer = ok(DeviceBuffer::allocate(setting.device, 4096));
  const AttentionTensors tensors{.k = buffer};
  CHECK(tensors.k.address == buffer.address());
  CHECK(tensors.k.bytes == 4096);
  CHECK(tensors.k.is_contiguous());
  CHECK(tensors.v.address == 0);
  static_assert(!std::is_convertible_v<DeviceBuffer, DeviceTensor>);  // nothing would own the memory
}

TEST_CASE("a decode step launches the append and then attention, which starts early") {
  BoundSetting setting;
  if (setting.stub.missing()) return;
  RuntimeOptions options = device_options(setting.home / "builtin");
  options.templates = {};
  const auto runtime = make_runtime(std::move(options));
  AttentionProblem problem = setting.problem;
  problem.append.emplace().rope_dim = 64;
  const AttentionInputs inputs = ok(make_attention_inputs(problem, {100, 7}, 1));
  const AttentionPlan plan =
      ok(plan_attention(problem, setting.facts(), {}, ok(AttentionBackends::builtin())));
  const BoundAttention attention = ok(BoundAttention::bind(*runtime, plan, 0));
  const TensorBuffers buffers = ok(TensorBuffers::create(setting.device, problem, inputs, plan.workspace));
  ok(attention.check(buffers.tensors()));
  ok(attention.run(buffers.tensors(), nullptr));
  const auto made = launches();
  REQUIRE(made.size() >= 2);
  CHECK(std::string(made[0].kernel) == "attention_append");
  CHECK(std::string(made[1].kernel) == "attention_decode");
  CHECK(made[0].programmatic == 0);
  CHECK(made[1].programmatic == 1);
  CHECK(made[0].grid[2] == 2);
  CHECK(attention.plan().row.digest == attention.functions()[1].record().digest);
  AttentionTensors without = buffers.tensors();
  without.new_k = {};
  CHECK(attention.run(without, nullptr).error().code == ErrorCode::invalid_argument);
  CHECK(launches().size() == made.size());
}

TEST_CASE("a plan that is made anew when it is bound keeps its append") {
  BoundSetting setting;
  if (setting.stub.missing()) return;
  RuntimeOptions options = device_options(setting.home / "both");
  options.templates = ok(TemplateCatalog::builtin());
  ok(options.templates.add(ok(scale_catalog().find("scale"))));
  setting.runtime = make_runtime(std::move(options));
  setting.problem.append.emplace();
  const auto greedy = std::make_shared<ScaleBackend>();
  greedy->counts_on = 1000;
  const AttentionPlan plan = setting.plan(greedy);
  REQUIRE(plan.steps.size() == 3);
  CHECK(plan.steps[1].grid[0] == 1000);
  const BoundAttention attention = setting.bind(plan);
  REQUIRE(attention.plan().steps.size() == 3);
  CHECK(attention.plan().steps[0].entry_point == "attention_append");
  CHECK(attention.plan().steps[1].grid[0] == 16);
}

// The measured step is the only one. The stub keeps a list of launches, so it is configured to
// succeed at the next launch without recording it. The stub's own stack of contexts has room if the
// context is not current.
TEST_CASE("a run allocates nothing, whether the context is current or not") {
  const BoundSetting setting;
  if (setting.stub.missing()) return;
  AttentionPlan plan = setting.plan(std::make_shared<const ScaleBackend>());
  plan.steps.pop_back();
  const BoundAttention attention = setting.bind(plan);
  const AttentionTensors tensors = setting.buffers.tensors();
  ok(attention.run(tensors, nullptr));
  const auto allocated = [&] {
    setting.stub.fail("cuLaunchKernelEx", 1, 0);
    const unsigned before = allocations();
    const bool launched = attention.run(tensors, nullptr).has_value();
    const unsigned after = allocations();
    CHECK(launched);
    return after - before;
  };
  CHECK(allocated() == 0);
  const auto current = ok(setting.device->make_current());
  CHECK(allocated() == 0);
  CHECK(allocations() > 0);
}

// An argument that contains a tensor map of Q and counts the requests for it.
class MapWriter final : public ArgumentWriter {
 public:
  static constexpr std::uint32_t kMap = 64;

  std::size_t size() const override { return 192; }
  void prepare(std::span<std::byte> argument) const override {
    std::memset(argument.data(), 0, argument.size());
  }
  void write(const AttentionTensors& tensors, std::span<std::byte> argument) const override {
    ++written;
    std::memcpy(argument.data(), &tensors.o.address, sizeof(tensors.o.address));
  }
  std::size_t tensor_maps(const AttentionTensors& tensors,
                          std::span<PlacedTensorMap, kMaximumTensorMaps> maps) const override {
    ++described;
    TensorMapDescription map;
    map.address = tensors.q.address;
    map.sizes = {64, 4, 1, 1, 1};
    map.strides_bytes = {tensors.q.is_contiguous() ? 128
                                                   : static_cast<std::uint64_t>(tensors.q.strides[2]) * 2};
    map.box = {64, 4, 1, 1, 1};
    maps[0] = {kMap, map};
    return 1;
  }

  mutable std::atomic<int> written = 0;
  mutable std::atomic<int> described = 0;
};

constexpr const char* kMapTemplate = R"(// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{ "name": "mapped", "interface": 1, "summary": "takes a tensor map", "minimum_target": "sm_90",
  "parameters": [], "constraints": [],
  "kernels": [ {"name": "mapped", "threads": "128", "dynamic_shared_bytes": "0", "parameter_bytes": 192} ] }
*/
struct Parameters { unsigned char bytes[192]; };
extern "C" __global__ void mapped(const __grid_constant__ Parameters p) {}
)";

class MapBackend final : public AttentionBackend {
 public:
  std::string_view name() const override { return "mapped"; }
  Result<PlanDecision> consider(const PlanRequest&) const override {
    AttentionPlan plan;
    PlanStep& step = plan.steps.emplace_back();
    step.kernel = KernelSpec{"mapped", {}};
    step.entry_point = "mapped";
    step.threads = 128;
    step.arguments = writer;
    return PlanDecision(std::move(plan));
  }

  std::shared_ptr<const MapWriter> writer = std::make_shared<const MapWriter>();
};

TEST_CASE(
    "tensor maps are described and encoded where tensors are others than before, and then allocate nothing") {
  BoundSetting setting;
  if (setting.stub.missing()) return;
  RuntimeOptions options = device_options(setting.home / "mapped");
  options.templates = scale_catalog(kMapTemplate);
  setting.runtime = make_runtime(std::move(options));
  const auto backend = std::make_shared<MapBackend>();
  const MapWriter& writer = *backend->writer;
  const BoundAttention attention = setting.bind(setting.plan(backend));
  const AttentionTensors tensors = setting.buffers.tensors();
  AttentionTensors apart = tensors;
  apart.q.strides = {4 * 128, 4 * 128, 128};
  apart.q.bytes = 1 << 20;
  const int described = writer.described;  // at binding
  for (int layer = 0; layer < 3; ++layer) {
    ok(attention.run(tensors, nullptr));
    ok(attention.run(apart, nullptr));
  }
  CHECK(writer.written == 2);
  CHECK(writer.described == described + 2);
  CHECK(setting.stub.calls("cuTensorMapEncodeTiled") == 2);
  const auto made = launches();
  REQUIRE(made.size() == 6);
  const auto stride = [](const cubinet_stub_launch_record& launch) {
    std::uint64_t words[4];  // the stub's encoding: address, two sizes, a stride
    std::memcpy(words, launch.arguments + MapWriter::kMap, sizeof(words));
    return words[3];
  };
  for (std::size_t i = 0; i < made.size(); ++i)
    CHECK(stride(made[i]) == (i % 2 == 0 ? 128 : 256));
  setting.stub.fail("cuLaunchKernelEx", 1, 0);
  const unsigned before = allocations();
  const bool launched = attention.run(apart, nullptr).has_value();
  CHECK(allocations() == before);
  CHECK(launched);
}

TEST_CASE("a tensor map that is refused is refused at every run, and hides none that is good") {
  BoundSetting setting;
  if (setting.stub.missing()) return;
  RuntimeOptions options = device_options(setting.home / "mapped");
  options.templates = scale_catalog(kMapTemplate);
  setting.runtime = make_runtime(std::move(options));
  const BoundAttention attention = setting.bind(setting.plan(std::make_shared<MapBackend>()));
  const AttentionTensors tensors = setting.buffers.tensors();
  for (int i = 0; i < 2; ++i) {
    setting.stub.fail("cuTensorMapEncodeTiled", 1, 1);
    CHECK_FALSE(attention.run(tensors, nullptr));
  }
  setting.stub.fail("cuTensorMapEncodeTiled", 0, 0);
  ok(attention.run(tensors, nullptr));
  CHECK(launches().size() == 1);
}

TEST_CASE("the context is pushed only where it is not current, and popped again") {
  const BoundSetting setting;
  if (setting.stub.missing()) return;
  const BoundAttention attention = setting.bind();
  const auto contexts = control<decltype(&cubinet_stub_current_contexts)>("cubinet_stub_current_contexts");
  REQUIRE(contexts() == 0);
  const unsigned before = setting.stub.calls("cuCtxPushCurrent");
  ok(attention.run(setting.buffers.tensors(), nullptr));
  CHECK(setting.stub.calls("cuCtxPushCurrent") == before + 1);
  CHECK(contexts() == 0);
  const auto current = ok(setting.device->make_current());
  ok(attention.run(setting.buffers.tensors(), nullptr));
  CHECK(setting.stub.calls("cuCtxPushCurrent") == before + 2);
  CHECK(contexts() == 1);
}

TEST_CASE("what is bound outlives the release of its kernel and the Runtime") {
  BoundSetting setting;
  if (setting.stub.missing()) return;
  const BoundAttention attention = setting.bind();
  CHECK(setting.runtime->release(*ok(setting.runtime->resolve(scale_spec())), 0));
  setting.runtime.reset();
  ok(attention.run(setting.buffers.tensors(), nullptr));
  CHECK(launches().size() == 2);
  CHECK(attention.functions().size() == 2);
}

TEST_CASE("a plan that counts on more blocks than fit is made anew with what the driver said, once") {
  const BoundSetting setting;
  if (setting.stub.missing()) return;
  const auto greedy = std::make_shared<ScaleBackend>();
  greedy->counts_on = 1000;
  const AttentionPlan plan = setting.plan(greedy);
  REQUIRE(plan.steps[0].grid[0] == 1000);
  const BoundAttention attention = setting.bind(plan);
  CHECK(attention.plan().steps[0].grid[0] == 16);  // 2048 threads per SM, 128 per block
  REQUIRE(attention.plan().request.options.occupancy.size() == 1);
  CHECK(attention.plan().backend == plan.backend);
  greedy->counts_on = 16;
  CHECK(setting.bind(setting.plan(greedy)).plan().request.options.occupancy.empty());
}

TEST_CASE("of a kernel in clusters it is clusters that are counted") {
  const BoundSetting setting;
  if (setting.stub.missing()) return;
  const auto clustered = std::make_shared<ScaleBackend>();
  clustered->counts_on = 1000;
  clustered->cluster_x = 4;
  const BoundAttention attention = setting.bind(setting.plan(clustered));
  CHECK(attention.plan().steps[0].grid[0] == 132);  // 33 clusters of 4
  ok(attention.run(setting.buffers.tensors(), nullptr));
  CHECK(launches().front().cluster[0] == 4);
  CHECK(launches().front().spreads_clusters == 1);
}

TEST_CASE("a plan that cannot be launched, or is for another device, is not bound") {
  const BoundSetting setting;
  if (setting.stub.missing()) return;
  const auto declined = [&](const AttentionPlan& plan, ErrorCode code, const std::string& part) {
    const auto bound = BoundAttention::bind(*setting.runtime, plan, 0);
    REQUIRE_FALSE(bound);
    CHECK(bound.error().code == code);
    CHECK_MESSAGE(bound.error().message.find(part) != std::string::npos, bound.error().message);
  };
  const auto looked_at = std::make_shared<ScaleBackend>();
  looked_at->not_launchable = "it is only looked at";
  PlanOptions looking;
  looking.launches = false;
  declined(setting.plan(looked_at, looking), ErrorCode::unsupported, "only looked at");
  AttentionPlan plan = setting.plan(std::make_shared<const ScaleBackend>());
  plan.request.device.sm_count = 7;
  declined(plan, ErrorCode::invalid_argument, "7 multiprocessors");
  plan = setting.plan(std::make_shared<const ScaleBackend>());
  plan.steps[1].arguments = nullptr;
  declined(plan, ErrorCode::invalid_argument, "argument");
  plan = setting.plan(std::make_shared<const ScaleBackend>());
  plan.steps[1].kernel = {};
  declined(plan, ErrorCode::unsupported, "assumed to exist");
  plan.steps[1].kernel = KernelSpec{"nowhere", {}, KernelMaker::function};
  declined(plan, ErrorCode::not_found, "nowhere");
}

TEST_CASE("a plan for one target is not bound to the build for another, and both are named") {
  const BoundSetting setting;
  if (setting.stub.missing()) return;
  const SmTarget baseline{9, 0, TargetKind::baseline};
  const SmTarget specific{9, 0, TargetKind::specific};  // the Runtime's default target
  TargetPolicy pins;
  pins.pinned = baseline;
  TargetPolicy forbids;
  forbids.forbidden = {specific};
  const auto refused = [&](const KernelRow& row, const TargetPolicy& policy) {
    const auto backend = std::make_shared<ScaleBackend>();
    backend->row = row;
    PlanOptions options;
    options.targets = policy;
    const auto bound = BoundAttention::bind(*setting.runtime, setting.plan(backend, options), 0);
    REQUIRE_FALSE(bound);
    CHECK(bound.error().code == ErrorCode::invalid_argument);
    return bound.error().message;
  };
  KernelRow row;
  row.target = baseline;
  CHECK(contains(refused(row, pins), "for sm_90 under its policy (pins sm_90)"));
  CHECK(contains(refused(row, forbids), "loaded the build for sm_90a"));
  CHECK(contains(refused({}, forbids), "under its policy (forbids sm_90a)"));
  row.digest = sha256(as_bytes("a build that was there"));
  CHECK(contains(refused(row, {}), "for sm_90, and the Runtime loaded the build for sm_90a"));
}

TEST_CASE("a plan is bound to its target where the Runtime takes it, and a forecast to what there is") {
  BoundSetting setting;
  if (setting.stub.missing()) return;
  const auto backend = std::make_shared<ScaleBackend>();
  backend->row.target = {9, 0, TargetKind::baseline};
  const AttentionPlan forecast = setting.bind(setting.plan(backend)).plan();
  CHECK(forecast.row.target.to_string() == "sm_90a");
  CHECK(forecast.exists());
  RuntimeOptions options = device_options(setting.home / "pinned");
  options.targets.pinned = backend->row.target;
  setting.runtime = make_runtime(std::move(options));
  PlanOptions wishes;
  wishes.targets.pinned = backend->row.target;
  const BoundAttention attention = setting.bind(setting.plan(backend, wishes));
  CHECK(attention.plan().row.target == backend->row.target);
  CHECK(attention.functions().front().record().target == backend->row.target);
}

TEST_CASE("a forecast is made good by a store under the wishes that the Runtime shares") {
  BoundSetting setting;
  if (setting.stub.missing()) return;
  const auto backend = std::make_shared<ScaleBackend>();
  backend->row.target = {9, 0, TargetKind::specific};
  PlanOptions wishes;
  wishes.targets.forbidden = {{8, 0, TargetKind::baseline}};
  const auto path = setting.home / "baseline.bundle";
  const auto bundle = bundle_of(*setting.runtime, path, {{9, 0, TargetKind::baseline}}, 1);
  RuntimeOptions options = device_options(setting.home / "other");
  options.stores = {bundle};
  options.targets = wishes.targets;
  setting.runtime = make_runtime(options);
  CHECK(setting.bind(setting.plan(backend, wishes)).plan().row.target.to_string() == "sm_90");
  options.targets = {};
  setting.runtime = make_runtime(options);
  CHECK_FALSE(BoundAttention::bind(*setting.runtime, setting.plan(backend, wishes), 0));
}

TEST_CASE("a function that was loaded before is in the way of a better build until it is released") {
  BoundSetting setting;
  if (setting.stub.missing()) return;
  const auto bundle =
      bundle_of(*setting.runtime, setting.home / "b.bundle", {{9, 0, TargetKind::baseline}}, 1);
  const auto memory = make_memory_store();
  RuntimeOptions options = device_options(setting.home / "other");
  options.stores = {bundle, memory};
  const auto builder = std::exchange(setting.runtime, make_runtime(std::move(options)));
  const auto backend = std::make_shared<ScaleBackend>();
  backend->row.target = {9, 0, TargetKind::specific};
  CHECK(setting.bind(setting.plan(backend)).plan().row.target.to_string() == "sm_90");
  const auto better = ok(builder->cubin(scale_spec(), backend->row.target));
  ok(memory->publish(better->cubin));
  backend->row.digest = better->cubin.record->digest;
  const AttentionPlan plan = setting.plan(backend);
  CHECK(contains(BoundAttention::bind(*setting.runtime, plan, 0).error().remedy, "Runtime::release()"));
  CHECK(setting.runtime->release(*ok(setting.runtime->resolve(scale_spec())), 0));
  CHECK(setting.bind(plan).functions().front().record().target == backend->row.target);
}

TEST_CASE("binding a plan that may have nothing compiled compiles nothing") {
  const BoundSetting setting;
  if (setting.stub.missing()) return;
  PlanOptions options;
  options.may_compile = false;
  const AttentionPlan plan = setting.plan(std::make_shared<const ScaleBackend>(), options);
  const auto bound = BoundAttention::bind(*setting.runtime, plan, 0);
  REQUIRE_FALSE(bound);
  CHECK(bound.error().code == ErrorCode::not_found);
  CHECK(contains(bound.error().message, "no build of scale("));
  CHECK(setting.runtime->counters().compiled == 0);
  setting.bind();
  CHECK(setting.bind(plan).functions().size() == 2);
}

TEST_CASE("binding a plan that may load nothing uses loaded kernels and names one that is not loaded") {
  const BoundSetting setting;
  if (setting.stub.missing()) return;
  PlanOptions options;
  options.may_load = false;
  const AttentionPlan plan = setting.plan(std::make_shared<const ScaleBackend>(), options);
  const unsigned loads = setting.stub.calls("cuLibraryLoadData");
  auto bound = BoundAttention::bind(*setting.runtime, plan, 0);
  REQUIRE_FALSE(bound);
  CHECK(bound.error().code == ErrorCode::not_found);
  CHECK(contains(bound.error().message, "scale("));
  CHECK(contains(bound.error().message, "is not loaded on device 0"));
  CHECK(setting.runtime->counters().compiled == 0);
  CHECK(setting.stub.calls("cuLibraryLoadData") == loads);
  setting.bind();
  CHECK(setting.bind(plan).functions().size() == 2);
  CHECK(setting.runtime->release(*ok(setting.runtime->resolve(scale_spec())), 0));
  bound = BoundAttention::bind(*setting.runtime, plan, 0);
  CHECK_FALSE(bound);
}

TEST_CASE("a graph of a run keeps the kernels of attention that has ended") {
  const BoundSetting setting;
  if (setting.stub.missing()) return;
  const auto stream = ok(Stream::create(setting.device));
  std::optional<BoundAttention> attention(setting.bind());
  const AttentionTensors tensors = setting.buffers.tensors();
  const auto graph = Graph::capture(stream, [&] { return attention->run(tensors, stream.handle()); });
  REQUIRE(graph);
  attention.reset();
  CHECK(setting.runtime->release(*ok(setting.runtime->resolve(scale_spec())), 0));
  CHECK(ok(setting.runtime->trim(UINT64_MAX)).modules == 0);
  CHECK(graph->launch(stream));
}

TEST_CASE("a check finds a tensor on no device or another one by name") {
  const BoundSetting setting;
  if (setting.stub.missing()) return;
  const BoundAttention attention = setting.bind();
  ok(attention.check(setting.buffers.tensors()));
  AttentionTensors tensors = setting.buffers.tensors();
  const std::vector<std::int32_t> host(2);
  tensors.kv_lengths.address = reinterpret_cast<std::uint64_t>(host.data());
  const auto refused = attention.check(tensors);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::invalid_argument);
  CHECK(refused.error().message.find("kv_lengths") != std::string::npos);
}

TEST_CASE("threads run the same bound attention at once, each on its stream") {
  const BoundSetting setting;
  if (setting.stub.missing()) return;
  const BoundAttention attention = setting.bind();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const Stream stream = ok(Stream::create(setting.device));
      for (int j = 0; j < 50; ++j)
        ok(attention.run(setting.buffers.tensors(), stream.handle()));
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(launches().size() == 4 * 50 * 2);
}

}  // namespace
}  // namespace cubinet
