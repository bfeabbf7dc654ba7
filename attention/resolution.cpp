// SPDX-License-Identifier: Apache-2.0
#include "append/append_step.hpp"
#include "tuning/tuned_plan.hpp"

#include <cubinet/attention/backend.hpp>
#include <cubinet/kernel_table/selection_rules.hpp>

namespace cubinet {
namespace {

Error no_such_backend(std::string_view name, const AttentionBackends& backends) {
  std::string names(kAutomaticBackend);
  for (const std::string& known : backends.names())
    names += ", " + known;
  return Error{ErrorCode::invalid_argument,
               "there is no attention backend '" + std::string(name.substr(0, 40)) + "'",
               "name one of " + names};
}

// Returns the decline for a caller who wants to launch a plan that cannot be launched.
BackendDecline declined_launch(AttentionPlan plan, std::string_view backend) {
  const std::string what = plan.row.function_name.empty() ? std::string("a kernel that is assumed to exist")
                                                          : plan.row.function_name;
  return {std::string(backend),
          "it chooses " + what + " but cannot launch it: " + plan.not_launchable,
          std::move(plan.trace),
          {}};
}

Result<void> check_request(const PlanRequest& request) {
  CUBINET_TRY(check_problem(request.problem));
  CUBINET_TRY(check_device(request.device));
  if (request.options.rules && find_rules(*request.options.rules) == nullptr) {
    return Error{ErrorCode::invalid_argument,
                 "`PlanOptions::rules` is '" + *request.options.rules +
                     "', and the selection rules of this version are not known",
                 "use " + known_rule_versions()};
  }
  const auto device = request.kernels.device();
  if (!device || *device == request.device.capability) return {};
  return Error{ErrorCode::invalid_argument, "the kernels to plan with are those of a device of " +
                                                device->to_string() + ", and the plan is for one of " +
                                                request.device.capability.to_string()};
}

// Returns the backends to query in order, or only the one that was named.
Result<std::vector<std::shared_ptr<const AttentionBackend>>> order_for(const PlanRequest& request,
                                                                       const AttentionBackends& backends,
                                                                       std::string& source) {
  const std::string& requested = request.options.backend;
  if (!request.problem.attends()) {
    source = "there is one way to append";
    return std::vector{append_alone()};
  }
  if (requested == kAutomaticBackend) {
    const BackendRule* rule = backends.rule_for(request);
    source = rule != nullptr ? rule->source : "as they were added";
    return backends.order_of(rule);
  }
  source = "named";
  const AttentionBackend* named = backends.find(requested);
  if (named == nullptr) return no_such_backend(requested, backends);
  return std::vector{named->shared_from_this()};
}

}  // namespace

const CostModel& PlanRequest::costs() const {
  return options.costs != nullptr ? *options.costs : *default_cost_model();
}

std::optional<std::uint32_t> PlanRequest::occupancy_of(const KernelRequest& kernel) const {
  for (const PlanOptions::MeasuredOccupancy& measured : options.occupancy) {
    if (measured.kernel == kernel) return measured.count;
  }
  return std::nullopt;
}

std::string_view to_string(KernelChoice choice) {
  switch (choice) {
    case KernelChoice::backend_rules:
      return "chosen by the rules of the backend";
    case KernelChoice::best:
      return "the best kernel by the rules and the cost model";
    case KernelChoice::existing_near_best:
      return "existing build within 1.1 of the best";
    case KernelChoice::existing_only:
      return "the fastest existing build, because none may be compiled";
    case KernelChoice::named:
      return "named by the request or a measurement";
  }
  return "unknown";
}

std::string_view AttentionPlan::backend_name() const {
  return backend->name();
}

Error AttentionResolution::error() const {
  std::string message = requested == kAutomaticBackend ? "no attention backend can " : "the backend cannot ";
  message += launches ? "launch this problem" : "select this problem";
  const char* separator = ": ";
  for (const BackendDecline& decline : declined) {
    message += separator + decline.backend + ": " + decline.reason;
    separator = "; ";
  }
  return Error{ErrorCode::unsupported, std::move(message)};
}

Result<AttentionResolution> resolve_attention(const AttentionProblem& problem, const DeviceFacts& device,
                                              const AvailableKernels& kernels,
                                              const AttentionBackends& backends, const PlanOptions& options) {
  PlanRequest request{problem, device, kernels, options};
  CUBINET_TRY(check_request(request));
  AttentionResolution resolution;
  resolution.requested = options.backend;
  resolution.launches = options.launches;
  CUBINET_TRY_ASSIGN(const auto order, order_for(request, backends, resolution.order));
  std::vector<std::string> passed_over;
  resolution.plan = tuned_plan(request, backends, passed_over);
  if (resolution.plan) {
    resolution.order = resolution.plan->measured;
    return resolution;
  }
  for (const auto& backend : order) {
    CUBINET_TRY_ASSIGN(PlanDecision answer, consider(*backend, request));
    if (auto* decline = std::get_if<BackendDecline>(&answer)) {
      decline->backend = backend->name();
      resolution.declined.push_back(std::move(*decline));
      continue;
    }
    auto& plan = std::get<AttentionPlan>(answer);
    if (options.launches && !plan.launchable()) {
      resolution.declined.push_back(declined_launch(std::move(plan), backend->name()));
      continue;
    }
    if (options.explains) plan.trace.insert(plan.trace.begin(), passed_over.begin(), passed_over.end());
    plan.request = std::move(request);
    plan.backend = backend;
    resolution.plan = std::move(plan);
    break;
  }
  return resolution;
}

Result<AttentionPlan> plan_attention(const AttentionProblem& problem, const DeviceFacts& device,
                                     const AvailableKernels& kernels, const AttentionBackends& backends,
                                     const PlanOptions& options) {
  CUBINET_TRY_ASSIGN(AttentionResolution resolution,
                     resolve_attention(problem, device, kernels, backends, options));
  if (!resolution.plan) return resolution.error();
  return *std::move(resolution.plan);
}

}  // namespace cubinet
