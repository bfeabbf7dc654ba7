// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/backend.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// What a plan is for. What may be launched may be selected; the reverse does not hold.
enum class AttentionPurpose : std::uint8_t {
  select = 0,  // decide and size
  launch = 1,
};
std::string_view to_string(AttentionPurpose purpose);

// Which backends `auto` asks, in which order, and where that order comes from. The first rule of the table
// that applies decides.
struct BackendRule {
  AttentionPurpose purpose;
  std::string_view condition;  // in words
  bool (*applies)(const AttentionProblem& problem, const BackendContext& context);
  std::array<std::string_view, 2> order;  // names of backends
  std::string_view source;                // the measurement or fact behind the order
};
std::span<const BackendRule> backend_rules();

// The backends that there are, by name. Immutable and thread-safe.
class AttentionBackends {
 public:
  // Those of the library.
  static Result<AttentionBackends> builtin();

  // invalid_argument when the name is taken, or `auto`.
  Result<void> add(std::shared_ptr<const AttentionBackend> backend);
  const AttentionBackend* find(std::string_view name) const;  // null when there is none
  std::vector<std::string> names() const;

 private:
  std::vector<std::shared_ptr<const AttentionBackend>> backends_;
};

// What was asked for, and what is used. The request is never changed: resolve again for the next problem.
struct AttentionResolution {
  std::string requested;
  AttentionPurpose purpose = AttentionPurpose::select;
  const BackendRule* rule = nullptr;                 // that gave the order; null for a backend that was named
  std::vector<BackendDecline> declined;              // in the order in which they were asked
  std::optional<AttentionPlan> plan = std::nullopt;  // nullopt: all of them declined

  const std::string& effective() const { return plan->backend; }  // REQUIRES: plan
  // REQUIRES: !plan. unsupported; quotes every backend's reason.
  Error error() const;
};

// Asks the backends and keeps every answer. A backend that was named is asked alone: what it declines is
// never silently done by another. invalid_argument for a name that is no backend or a problem that makes no
// sense.
Result<AttentionResolution> survey_backends(const AttentionProblem& problem, std::string_view requested,
                                            AttentionPurpose purpose, const BackendContext& context,
                                            const AttentionBackends& backends);

// The same, and an error when no backend is left: the result has a plan.
Result<AttentionResolution> resolve_attention(const AttentionProblem& problem, std::string_view requested,
                                              AttentionPurpose purpose, const BackendContext& context,
                                              const AttentionBackends& backends);

}  // namespace cubinet
