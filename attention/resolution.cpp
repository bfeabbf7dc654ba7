// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/resolution.hpp>

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

// What a plan that may only be looked at says to somebody who wants to launch.
BackendDecline declined_launch(const AttentionPlan& plan) {
  const std::string what =
      plan.row ? plan.row->function_name : std::string("a kernel that is assumed to exist");
  return {plan.backend, "it chooses " + what + " but cannot launch it: " + *plan.not_launchable,
          plan.selection, plan.rows};
}

const BackendRule* rule_for(const AttentionProblem& problem, AttentionPurpose purpose,
                            const BackendContext& context) {
  for (const BackendRule& rule : backend_rules()) {
    if (rule.purpose == purpose && rule.applies(problem, context)) return &rule;
  }
  return nullptr;
}

}  // namespace

std::string_view to_string(AttentionPurpose purpose) {
  return purpose == AttentionPurpose::launch ? "launch" : "select";
}

Result<AttentionBackends> AttentionBackends::builtin() {
  AttentionBackends backends;
  CUBINET_TRY_ASSIGN(std::shared_ptr<const AttentionBackend> templates, make_template_backend());
  CUBINET_TRY(backends.add(std::move(templates)));
  CUBINET_TRY(backends.add(make_imported_backend()));
  return backends;
}

Result<void> AttentionBackends::add(std::shared_ptr<const AttentionBackend> backend) {
  if (backend->name() == kAutomaticBackend || find(backend->name()) != nullptr) {
    return Error{ErrorCode::invalid_argument,
                 "the name of the attention backend '" + std::string(backend->name()) + "' is taken"};
  }
  backends_.push_back(std::move(backend));
  return {};
}

const AttentionBackend* AttentionBackends::find(std::string_view name) const {
  for (const auto& backend : backends_) {
    if (backend->name() == name) return backend.get();
  }
  return nullptr;
}

std::vector<std::string> AttentionBackends::names() const {
  std::vector<std::string> names;
  for (const auto& backend : backends_)
    names.emplace_back(backend->name());
  return names;
}

Error AttentionResolution::error() const {
  std::string message = requested == kAutomaticBackend ? "no attention backend can " : "the backend cannot ";
  message += std::string(to_string(purpose)) + " this problem";
  const char* separator = ": ";
  for (const BackendDecline& decline : declined) {
    message += separator + decline.backend + ": " + decline.reason;
    separator = "; ";
  }
  return Error{ErrorCode::unsupported, std::move(message)};
}

Result<AttentionResolution> survey_backends(const AttentionProblem& problem, std::string_view requested,
                                            AttentionPurpose purpose, const BackendContext& context,
                                            const AttentionBackends& backends) {
  CUBINET_TRY(check_problem(problem));
  CUBINET_TRY(check_device(context.device));
  AttentionResolution resolution;
  resolution.requested = requested;
  resolution.purpose = purpose;
  std::vector<const AttentionBackend*> order;
  if (requested != kAutomaticBackend) {
    order.push_back(backends.find(requested));
    if (order.back() == nullptr) return no_such_backend(requested, backends);
  } else if ((resolution.rule = rule_for(problem, purpose, context)) != nullptr) {
    for (const std::string_view name : resolution.rule->order) {
      if (const AttentionBackend* backend = backends.find(name)) order.push_back(backend);
    }
  }
  for (const AttentionBackend* backend : order) {
    CUBINET_TRY_ASSIGN(Consideration answer, backend->consider(problem, context));
    if (auto* decline = std::get_if<BackendDecline>(&answer)) {
      resolution.declined.push_back(std::move(*decline));
      continue;
    }
    auto& plan = std::get<AttentionPlan>(answer);
    if (purpose == AttentionPurpose::launch && !plan.launchable()) {
      resolution.declined.push_back(declined_launch(plan));
      continue;
    }
    resolution.plan = std::move(plan);
    break;
  }
  return resolution;
}

Result<AttentionResolution> resolve_attention(const AttentionProblem& problem, std::string_view requested,
                                              AttentionPurpose purpose, const BackendContext& context,
                                              const AttentionBackends& backends) {
  CUBINET_TRY_ASSIGN(AttentionResolution resolution,
                     survey_backends(problem, requested, purpose, context, backends));
  if (!resolution.plan) return resolution.error();
  return resolution;
}

}  // namespace cubinet
