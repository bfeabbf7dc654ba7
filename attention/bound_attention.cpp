// SPDX-License-Identifier: Apache-2.0
#include "append/append_step.hpp"
#include "argument_cache.hpp"
#include "tensor_checks.hpp"

#include <cubinet/attention/backend.hpp>
#include <cubinet/attention/workspace.hpp>
#include <cubinet/loader/memory.hpp>
#include <cubinet/loader/tensor_map.hpp>
#include <cubinet/runtime.hpp>

#include <array>
#include <cstring>
#include <memory>
#include <utility>

namespace cubinet {
namespace {

Result<KernelExplanation> explain(Runtime& runtime, const AttentionPlan& plan, const KernelSpec& spec) {
  CUBINET_TRY_ASSIGN(const auto kernel, runtime.resolve(spec));
  return runtime.explain(*kernel, plan.request.device.capability);
}

// Returns an error if the kernel has no build, for a plan that may not compile. The Runtime's own
// policy may allow it to compile.
Result<void> check_exists(Runtime& runtime, const AttentionPlan& plan, const KernelSpec& spec) {
  CUBINET_TRY_ASSIGN(const KernelExplanation known, explain(runtime, plan, spec));
  if (known.choice() != nullptr) return {};
  return Error{ErrorCode::not_found,
               "the plan may not compile, and there is no build of " + spec.to_string() +
                   " for a device of " + known.device.to_string(),
               "plan with the rows that `Runtime::rows()` gives now, or with `PlanOptions::may_compile`"};
}

// Returns whether the row's target is only a forecast, so that a build for another target is
// accepted. This is so if the kernel was not compiled yet, and the plan's policy is the default or
// equals the Runtime's.
Result<bool> is_forecast(Runtime& runtime, const AttentionPlan& plan, const KernelSpec& spec) {
  const TargetPolicy& policy = plan.request.options.targets;
  if (plan.exists()) return false;
  if (policy == TargetPolicy{}) return true;
  CUBINET_TRY_ASSIGN(const KernelExplanation known, explain(runtime, plan, spec));
  return known.policy == policy;
}

// Checks the target of the loaded build. The Runtime chooses builds by its own policy and skips
// builds that do not load.
Result<void> check_target(Runtime& runtime, const AttentionPlan& plan, const PlanStep& step,
                          const Function& function) {
  const KernelSpec& spec = std::get<KernelSpec>(step.kernel);
  const TargetPolicy& policy = plan.request.options.targets;
  const SmTarget loaded = function.record().target;
  const bool named = plan.row.target != SmTarget{} && step.kernel == plan.steps[plan.attention_step()].kernel;
  if (policy.allows(loaded)) {
    if (!named || loaded == plan.row.target) return {};
    CUBINET_TRY_ASSIGN(const bool forecast, is_forecast(runtime, plan, spec));
    if (forecast) return {};
  }
  return Error{ErrorCode::invalid_argument,
               "the plan wants " + spec.to_string() +
                   (named ? " for " + plan.row.target.to_string() : std::string()) +
                   (policy == TargetPolicy{} ? "" : " under its policy (" + policy.to_string() + ")") +
                   ", and the Runtime loaded the build for " + function.record().target_name(),
               "give the Runtime and the plan the same policy, and plan with the rows that `Runtime::rows()` "
               "gives now; what was loaded before stays until `Runtime::release()`, and a target whose build "
               "does not load can be forbidden in both"};
}

Result<Function> find(Runtime& runtime, const AttentionPlan& plan, const PlanStep& step, int device) {
  const auto* spec = std::get_if<KernelSpec>(&step.kernel);
  if (spec == nullptr)
    return Error{ErrorCode::unsupported, "a step of the plan has a kernel that is only assumed to exist"};
  const PlanOptions& options = plan.request.options;
  if (options.may_load && !options.may_compile && !runtime.frozen())
    CUBINET_TRY(check_exists(runtime, plan, *spec));
  const LoadPolicy policy = options.may_load ? LoadPolicy::may_load : LoadPolicy::loaded_only;
  CUBINET_TRY_ASSIGN(Function function, runtime.function(*spec, device, step.entry_point, policy));
  CUBINET_TRY(check_target(runtime, plan, step, function));
  return function;
}

Result<void> check_plan(const AttentionPlan& plan, const DeviceProperties& device) {
  if (!plan.launchable() || plan.steps.empty()) {
    return Error{ErrorCode::unsupported, "the plan of the backend '" + std::string(plan.backend_name()) +
                                             "' cannot be launched: " +
                                             (plan.steps.empty() ? "it has no steps" : plan.not_launchable)};
  }
  const DeviceFacts& planned = plan.request.device;
  if (planned.capability == device.capability && planned.sm_count == device.multiprocessors) return {};
  return Error{ErrorCode::invalid_argument, "the plan is for a device of " + planned.capability.to_string() +
                                                " with " + std::to_string(planned.sm_count) +
                                                " multiprocessors, and " + device.to_string() + " is of " +
                                                device.capability.to_string() + " with " +
                                                std::to_string(device.multiprocessors)};
}

}  // namespace

struct BoundAttention::Binding {
  // A launch with the part of its argument that does not depend on tensors.
  struct Step {
    LaunchConfig config;
    const ArgumentWriter* writer = nullptr;  // owned by the plan
    std::vector<std::byte> prepared;
    std::unique_ptr<ArgumentCache> written;  // null if the argument has no tensor map

    static Result<Step> prepare(const PlanStep& step);
    // Writes the whole argument.
    Result<void> write(const Device& encoder, const AttentionTensors& tensors,
                       std::span<std::byte> argument) const;
  };

  AttentionPlan plan;
  std::shared_ptr<const Device> device;
  std::vector<Function> functions;
  std::vector<Step> steps;
  TensorChecks checks;
};

Result<BoundAttention::Binding::Step> BoundAttention::Binding::Step::prepare(const PlanStep& step) {
  if (step.arguments == nullptr || step.arguments->size() > kMaximumArgumentBytes) {
    return Error{ErrorCode::invalid_argument, "a step of the plan has no argument of up to " +
                                                  std::to_string(kMaximumArgumentBytes) +
                                                  " bytes: its backend has to give one"};
  }
  Step bound;
  bound.config.grid = step.grid;
  bound.config.block = {step.threads, 1, 1};
  bound.config.cluster = {step.cluster_x, 1, 1};
  bound.config.dynamic_shared_bytes = step.shared_bytes;
  bound.config.programmatic_launch = step.starts_early;
  bound.config.spreads_clusters = step.cluster_x > 1;
  bound.writer = step.arguments.get();
  bound.prepared.resize(bound.writer->size());
  bound.writer->prepare(bound.prepared);
  std::array<PlacedTensorMap, kMaximumTensorMaps> placed;
  if (bound.writer->tensor_maps({}, placed) != 0)
    bound.written = std::make_unique<ArgumentCache>(bound.prepared.size());
  return bound;
}

Result<void> BoundAttention::Binding::Step::write(const Device& encoder, const AttentionTensors& tensors,
                                                  std::span<std::byte> argument) const {
  if (written != nullptr && written->find(tensors, argument)) return {};
  std::memcpy(argument.data(), prepared.data(), prepared.size());
  writer->write(tensors, argument);
  if (written == nullptr) return {};
  std::array<PlacedTensorMap, kMaximumTensorMaps> placed;
  const std::size_t count = writer->tensor_maps(tensors, placed);
  for (std::size_t i = 0; i < count; ++i) {
    CUBINET_TRY_ASSIGN(const auto encoded, encode_tensor_map(encoder, placed[i].description));
    std::memcpy(argument.data() + placed[i].offset, &encoded, sizeof(encoded));
  }
  written->keep(tensors, argument);
  return {};
}

Result<BoundAttention> BoundAttention::load(Runtime& runtime, const AttentionPlan& plan, int device) {
  auto binding = std::make_shared<Binding>();
  CUBINET_TRY_ASSIGN(binding->device, runtime.device(device));
  CUBINET_TRY(check_plan(plan, binding->device->properties()));
  binding->plan = plan;
  binding->checks = TensorChecks(plan.request.problem, plan.workspace, plan.rules);
  for (const PlanStep& step : binding->plan.steps) {
    CUBINET_TRY_ASSIGN(binding->steps.emplace_back(), Binding::Step::prepare(step));
    CUBINET_TRY_ASSIGN(binding->functions.emplace_back(), find(runtime, plan, step, device));
  }
  if (KernelRow& row = binding->plan.row; !plan.exists() && row.target != SmTarget{}) {
    const CubinRecord& loaded = binding->functions[plan.attention_step()].record();
    row.target = loaded.target;
    row.digest = loaded.digest;
  }
  return BoundAttention(std::move(binding));
}

Result<std::vector<PlanOptions::MeasuredOccupancy>> BoundAttention::shortfalls() const {
  std::vector<PlanOptions::MeasuredOccupancy> measured;
  for (std::size_t i = 0; i < binding_->functions.size(); ++i) {
    const PlanStep& step = binding_->plan.steps[i];
    if (step.counts_on == 0) continue;
    const Function& function = binding_->functions[i];
    CUBINET_TRY_ASSIGN(const int count,
                       step.cluster_x > 1
                           ? function.maximum_active_clusters(binding_->steps[i].config)
                           : function.maximum_blocks_per_multiprocessor(step.threads, step.shared_bytes));
    if (count < 0 || static_cast<std::uint32_t>(count) >= step.counts_on) continue;
    measured.push_back({step.kernel, static_cast<std::uint32_t>(count)});
  }
  return measured;
}

Result<BoundAttention> BoundAttention::bind(Runtime& runtime, const AttentionPlan& plan, int device) {
  CUBINET_TRY_ASSIGN(BoundAttention bound, load(runtime, plan, device));
  CUBINET_TRY_ASSIGN(const std::vector<PlanOptions::MeasuredOccupancy> measured, bound.shortfalls());
  if (measured.empty()) return bound;
  PlanRequest request = plan.request;
  request.options.occupancy.insert(request.options.occupancy.begin(), measured.begin(), measured.end());
  CUBINET_TRY_ASSIGN(PlanDecision answer, consider(*plan.backend, request));
  auto* again = std::get_if<AttentionPlan>(&answer);
  // Keep the plan: it is slower than estimated, but correct.
  if (again == nullptr || !again->launchable()) return bound;
  again->request = std::move(request);
  again->backend = plan.backend;
  return load(runtime, *again, device);
}

const AttentionPlan& BoundAttention::plan() const {
  return binding_->plan;
}

const std::vector<Function>& BoundAttention::functions() const {
  return binding_->functions;
}

Result<AttentionWorkspace> BoundAttention::make_workspace() const {
  return AttentionWorkspace::allocate(binding_->device, binding_->plan.workspace);
}

Result<void> BoundAttention::run(const AttentionTensors& tensors, CUstream stream) const {
  const Binding& binding = *binding_;
  CUBINET_TRY(binding.checks.check(tensors));
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, binding.device->make_current());
  alignas(64) std::byte argument[kMaximumArgumentBytes];
  const ArgumentWriter* written = nullptr;
  for (std::size_t i = 0; i < binding.steps.size(); ++i) {
    const Binding::Step& step = binding.steps[i];
    if (step.writer != written) {
      written = step.writer;
      CUBINET_TRY(step.write(*binding.device, tensors, {argument, step.prepared.size()}));
    }
    LaunchConfig config = step.config;
    config.stream = stream;
    const void* pointer = argument;
    const auto size = static_cast<std::uint32_t>(step.prepared.size());
    CUBINET_TRY(binding.functions[i].launch_raw(config, &pointer, &size, 1));
  }
  return {};
}

Result<void> BoundAttention::check(const AttentionTensors& tensors) const {
  CUBINET_TRY(binding_->checks.check(tensors));
  const Device& device = *binding_->device;
  for (const NamedTensor& named : named_tensors(tensors)) {
    if (named.tensor->address == 0) continue;
    const Result<int> ordinal = device_of_address(device, named.tensor->address);
    if (ordinal && *ordinal == device.ordinal()) continue;
    const std::string found =
        ordinal ? "it is on device " + std::to_string(*ordinal) : ordinal.error().message;
    return Error{ordinal ? ErrorCode::invalid_argument : ordinal.error().code,
                 "attention: " + std::string(named.name) + " must be on " + device.properties().to_string() +
                     ": " + found};
  }
  return {};
}

}  // namespace cubinet
