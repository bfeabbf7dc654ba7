// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/device_fixture.hpp"
#include "attention/problems.hpp"
#include "support/ok.hpp"

#include <cubinet/attention/backend.hpp>
#include <cubinet/attention/reference.hpp>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cubinet::test {

// Returns a control function of the stub.
template <class Control>
Control control(const char* name) {
  const auto library = ok(DynamicLibrary::open(std::getenv("CUBINET_TEST_DRIVER")));
  return reinterpret_cast<Control>(library.find(name));
}

// Returns the launches that the stub received, in order.
inline std::vector<cubinet_stub_launch_record> launches() {
  const auto count = control<decltype(&cubinet_stub_launch_count)>("cubinet_stub_launch_count");
  const auto read = control<decltype(&cubinet_stub_launch)>("cubinet_stub_launch");
  std::vector<cubinet_stub_launch_record> records(count());
  for (std::size_t i = 0; i < records.size(); ++i)
    read(i, &records[i]);
  return records;
}

// The argument of the fixture's template `scale`.
struct ScaleArgument {
  std::uint64_t data;
  std::int32_t count;
  std::int32_t pad;
};

class ScaleWriter final : public ArgumentWriter {
 public:
  std::size_t size() const override { return sizeof(ScaleArgument); }
  void prepare(std::span<std::byte> argument) const override {
    const ScaleArgument prepared{0, 77, 0};
    std::memcpy(argument.data(), &prepared, sizeof(prepared));
  }
  void write(const AttentionTensors& tensors, std::span<std::byte> argument) const override {
    std::memcpy(argument.data(), &tensors.o.address, sizeof(tensors.o.address));
  }
};

// A backend from outside the library, over a user's template: two kernels that share an argument.
class ScaleBackend final : public AttentionBackend {
 public:
  std::string_view name() const override { return "scale"; }
  Result<PlanDecision> consider(const PlanRequest& request) const override {
    AttentionPlan plan;
    plan.steps.resize(2);
    plan.steps[0].kernel = plan.steps[1].kernel = scale_spec();
    plan.steps[0].entry_point = "scale";
    plan.steps[0].threads = 128;
    plan.steps[0].counts_on = counts_on;
    plan.steps[0].cluster_x = cluster_x;
    plan.steps[1].entry_point = "scale_twice";
    plan.steps[1].threads = 64;
    plan.steps[0].arguments = plan.steps[1].arguments = std::make_shared<const ScaleWriter>();
    // The grid has as many blocks as run at once if the occupancy was measured.
    const std::uint32_t blocks = request.occupancy_of(plan.steps[0].kernel).value_or(counts_on);
    plan.steps[0].grid = {blocks * cluster_x, 1, 1};
    plan.not_launchable = not_launchable;
    plan.row = row;
    return PlanDecision(std::move(plan));
  }

  std::uint32_t counts_on = 1;
  std::uint32_t cluster_x = 1;
  std::string not_launchable;
  KernelRow row;  // the row of the first step's kernel
};

// A device, a Runtime on it and a problem with its tensors. Uses the stub's device if one is given.
struct BoundSetting {
  Stub stub;
  TempDir home;
  std::shared_ptr<Runtime> runtime = make_runtime(device_options(home / "h"));
  std::shared_ptr<const Device> device = ok(runtime->device(0));
  AttentionProblem problem = generation(2, 1, 100, 4, 2, 64, 64);
  AttentionInputs inputs = ok(make_attention_inputs(problem, {100, 7}, 1));
  TensorBuffers buffers = ok(TensorBuffers::create(device, problem, inputs, WorkspaceSizes{}));

  DeviceFacts facts() const {
    const DeviceProperties& properties = device->properties();
    return {properties.capability, properties.multiprocessors, properties.maximum_shared_bytes_per_block};
  }
  AttentionPlan plan(std::shared_ptr<const AttentionBackend> backend, const PlanOptions& options = {}) const {
    AttentionBackends backends;
    ok(backends.add(std::move(backend)));
    return ok(plan_attention(problem, facts(), {}, backends, options));
  }
  BoundAttention bind(const AttentionPlan& made) const { return ok(BoundAttention::bind(*runtime, made, 0)); }
  BoundAttention bind() const { return bind(plan(std::make_shared<const ScaleBackend>())); }
};

}  // namespace cubinet::test
