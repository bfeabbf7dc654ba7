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

// A row that is almost what was wanted.
struct NearMiss {
  std::shared_ptr<const KernelRow> row;  // keeps its table alive
  bool runs_here = false;                // its target runs on the device
  KernelSelector wanted;

  // "fmha… (sm_100f): tokens_per_page 32 instead of 48; sm_100f code runs …", the rule of
  // why_not_on
  std::string to_string(ComputeCapability device) const;
};

// The rows with the fewest differences from `wanted`, those for other devices behind equals that run here.
// Looks at every row of the table.
std::vector<NearMiss> nearest_rows(const KernelIndex& index, const KernelSelector& wanted, std::size_t limit);

// Why a backend does not serve a problem.
struct BackendDecline {
  std::string backend;
  std::string reason;              // one sentence that names what is lacking
  std::vector<std::string> trace;  // what was looked for, where the request asks for it
  std::vector<NearMiss> nearest;   // the same
};

using Consideration = std::variant<AttentionPlan, BackendDecline>;

// An implementation of the operation. Immutable and thread-safe. Everything that it needs to know stands in
// the request: the same request gives the same answer.
class AttentionBackend : public std::enable_shared_from_this<AttentionBackend> {
 public:
  virtual ~AttentionBackend() = default;
  virtual std::string_view name() const = 0;
  // REQUIRES: check_problem and check_device hold. A backend that would ignore a part of the problem (its
  // mask, its sinks) declines. An error is a failure, not a decline. `request` and `backend` of the plan are
  // filled in by the caller.
  virtual Result<Consideration> consider(const PlanRequest& request) const = 0;
  // Other ways in which it might run the problem, as options for consider(), the fastest by the cost model
  // first: what a tuner measures. REQUIRES: consider() plans it.
  virtual Result<std::vector<PlanOptions>> alternatives(const PlanRequest& /*request*/) const {
    return std::vector<PlanOptions>();
  }
};

// The order in which `auto` asks the backends, and the reason for it.
struct BackendRule {
  std::string condition;  // in words
  bool (*applies)(const PlanRequest& request);
  std::vector<std::string> order;  // names of backends; the others follow as they were added
  std::string source;              // the measurement or fact behind the order
};

// The backends that there are, by name, and the rules of their order. Const use is thread-safe.
class AttentionBackends {
 public:
  // Those of the library, with its rules (builtin_backends.cpp).
  static Result<AttentionBackends> builtin();

  // invalid_argument when the name is taken, or `auto`.
  Result<void> add(std::shared_ptr<const AttentionBackend> backend);
  // Goes before the rules that are there: the first that applies decides.
  void add_rule(BackendRule rule);

  const AttentionBackend* find(std::string_view name) const;  // null when there is none
  std::vector<std::string> names() const;
  const std::vector<BackendRule>& rules() const { return rules_; }
  const BackendRule* rule_for(const PlanRequest& request) const;  // null when none applies
  // The whole order: the rule's (which may be null), then the others.
  std::vector<std::shared_ptr<const AttentionBackend>> order_of(const BackendRule* rule) const;

 private:
  std::vector<std::shared_ptr<const AttentionBackend>> backends_;
  std::vector<BackendRule> rules_;
};

// What was asked for, and what is used. The request is never changed: resolve again for the next problem.
struct AttentionResolution {
  std::string requested;
  bool launches = true;
  std::string order;                                 // where the order of the backends comes from
  std::vector<BackendDecline> declined;              // in the order in which they were asked
  std::optional<AttentionPlan> plan = std::nullopt;  // nullopt: all of them declined

  // REQUIRES: !plan. unsupported; quotes every backend's reason.
  Error error() const;
};

// Asks the backends and keeps every answer: that all decline is one. A backend that was named is asked alone:
// what it declines is never silently done by another. Pure: no driver, no file. invalid_argument for a name
// that is no backend, a problem that makes no sense, or kernels of another device.
Result<AttentionResolution> resolve_attention(const AttentionProblem& problem, const DeviceFacts& device,
                                              const AvailableKernels& kernels,
                                              const AttentionBackends& backends,
                                              const PlanOptions& options = {});

// The same, and an error when no backend is left.
Result<AttentionPlan> plan_attention(const AttentionProblem& problem, const DeviceFacts& device,
                                     const AvailableKernels& kernels, const AttentionBackends& backends,
                                     const PlanOptions& options = {});

}  // namespace cubinet
