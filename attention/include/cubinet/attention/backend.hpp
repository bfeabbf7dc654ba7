// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/operation.hpp>
#include <cubinet/base/result.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cubinet {

// The names of the library's backends.
inline constexpr std::string_view kTemplatesBackend = "templates";
inline constexpr std::string_view kPublishedBackend = "published";

// A row that differs from the requested one in a few values.
struct NearMiss {
  std::shared_ptr<const KernelRow> row;  // keeps its table alive
  bool runs_here = false;                // true if its target runs on the device
  KernelSelector wanted;

  // Returns, for example, "fmha… (sm_100f): tokens_per_page 32 instead of 48; sm_100f code runs …".
  // The second part is the rule of why_not_on.
  std::string to_string(ComputeCapability device) const;
};

// Returns the rows with the fewest differences from `wanted`. Among equals, rows that run on the
// device come first. Reads every row of the table.
std::vector<NearMiss> nearest_rows(const KernelIndex& index, const KernelSelector& wanted, std::size_t limit);

// The reason why a backend does not serve a problem.
struct BackendDecline {
  std::string backend;
  std::string reason;  // one sentence that names the missing feature
  // The lookups that were made. Filled if the request asks for an explanation.
  std::vector<std::string> trace;
  std::vector<NearMiss> nearest;  // filled under the same condition
};

using PlanDecision = std::variant<AttentionPlan, BackendDecline>;

// An implementation of the operation. Immutable and thread-safe. The answer depends on the request
// alone: equal requests give equal answers.
class AttentionBackend : public std::enable_shared_from_this<AttentionBackend> {
 public:
  virtual ~AttentionBackend() = default;
  virtual std::string_view name() const = 0;
  // Plans the problem or declines it. A backend that would ignore a part of the problem (its mask,
  // its sinks) must decline. An error is a failure, not a decline. The caller fills in `request`
  // and `backend` of the plan. REQUIRES: check_problem and check_device hold.
  virtual Result<PlanDecision> consider(const PlanRequest& request) const = 0;
  // Returns other options for consider() with which the backend can run the problem, the fastest by
  // the cost model first. The tuner measures them. REQUIRES: consider() plans the problem.
  virtual Result<std::vector<PlanOptions>> alternatives(const PlanRequest& /*request*/) const {
    return std::vector<PlanOptions>();
  }
};

// An order in which `auto` queries the backends, and the reason for it.
struct BackendRule {
  std::string condition;  // in words
  bool (*applies)(const PlanRequest& request);
  // Names of backends. The others follow in the order of their addition.
  std::vector<std::string> order;
  std::string source;  // the measurement or fact behind the order
};

// The registered backends by name, and the rules of their order. Const use is thread-safe.
class AttentionBackends {
 public:
  // Returns the library's backends with its rules (builtin_backends.cpp).
  static Result<AttentionBackends> builtin();

  // Returns an error (invalid_argument) if the name is taken or is `auto`.
  Result<void> add(std::shared_ptr<const AttentionBackend> backend);
  // Inserts the rule before the existing ones. The first rule that applies decides.
  void add_rule(BackendRule rule);

  const AttentionBackend* find(std::string_view name) const;  // null if there is none
  std::vector<std::string> names() const;
  const std::vector<BackendRule>& rules() const { return rules_; }
  const BackendRule* rule_for(const PlanRequest& request) const;  // null if none applies
  // Returns the whole order: the backends of the rule, which may be null, then the others.
  std::vector<std::shared_ptr<const AttentionBackend>> order_of(const BackendRule* rule) const;

 private:
  std::vector<std::shared_ptr<const AttentionBackend>> backends_;
  std::vector<BackendRule> rules_;
};

// The request and the chosen plan. The request is never changed: resolve again for the next
// problem.
struct AttentionResolution {
  std::string requested;
  bool launches = true;
  std::string order;                                 // the source of the order of the backends
  std::vector<BackendDecline> declined;              // in the order in which they were queried
  std::optional<AttentionPlan> plan = std::nullopt;  // nullopt: every backend declined

  // Returns unsupported and quotes the reason of every backend. REQUIRES: !plan.
  Error error() const;
};

// Queries the backends and keeps every answer. It succeeds even if every backend declines. If the
// options name a backend, only that one is queried: no other backend replaces it. Pure: uses no
// driver and no file. Returns an error (invalid_argument) for an unknown backend, an invalid
// problem, or kernels of another device.
Result<AttentionResolution> resolve_attention(const AttentionProblem& problem, const DeviceFacts& device,
                                              const AvailableKernels& kernels,
                                              const AttentionBackends& backends,
                                              const PlanOptions& options = {});

// Does the same. Returns unsupported, with the reason of each backend, if every backend declines.
Result<AttentionPlan> plan_attention(const AttentionProblem& problem, const DeviceFacts& device,
                                     const AvailableKernels& kernels, const AttentionBackends& backends,
                                     const PlanOptions& options = {});

}  // namespace cubinet
