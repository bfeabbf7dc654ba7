// SPDX-License-Identifier: Apache-2.0
#include "describe_attention.hpp"
#include "explain.hpp"
#include "kernel_rows.hpp"
#include "target_options.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/kernel_table/row_codec.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cubinet::cli {
namespace {

// One build of a kernel that is known by rows or names, not by a template.
struct Candidate {
  PlainKernel kernel;
  std::string source;
  std::string verdict;
  bool chosen = false;
};

// The best target that runs on the device and the policy allows; among builds of one target the first given.
void choose_target(std::vector<Candidate>& candidates, const ExplainScope& scope) {
  for (Candidate& candidate : candidates) {
    candidate.verdict = why_not_on(candidate.kernel.target, scope.device);
    if (candidate.verdict.empty())
      candidate.verdict = scope.policy.refusal(candidate.kernel.target).value_or("");
  }
  for (const SmTarget target : scope.policy.targets(scope.device)) {
    for (Candidate& candidate : candidates) {
      if (candidate.kernel.target != target) continue;
      candidate.chosen = true;
      candidate.verdict = "the best target that runs on the device";
      break;
    }
    if (std::any_of(candidates.begin(), candidates.end(), [](const Candidate& c) { return c.chosen; })) break;
  }
  for (Candidate& candidate : candidates) {
    if (candidate.verdict.empty()) candidate.verdict = "runs here, and a better one is there";
  }
}

// The rows that do run on the device and differ least from a kernel, best first.
std::vector<NearMiss> near_rows(std::vector<KernelRow> rows, const KernelSelector& wanted,
                                const ExplainScope& scope) {
  const auto shared = std::make_shared<const std::vector<KernelRow>>(std::move(rows));
  auto nearest = nearest_rows(KernelIndex::build(shared, scope.device), wanted, shared->size());
  std::erase_if(nearest, [&](const NearMiss& miss) {
    return !miss.runs_here || miss.differences.empty() || !scope.policy.allows(miss.row->target);
  });
  if (nearest.size() > kNearestShown) nearest.resize(kNearestShown);
  return nearest;
}

nlohmann::json describe_near_row(const NearMiss& near) {
  nlohmann::json described = {{"function", near.row->function_name},
                              {"target", near.row->target.to_string()},
                              {"differences", nlohmann::json::array()}};
  for (const ColumnDifference& difference : near.differences)
    described["differences"].push_back(difference.to_string());
  return described;
}

// The near rows are told where the kernel itself has no build for the device.
ExitStatus report(const Context& context, std::string_view subject, std::vector<Candidate> candidates,
                  const std::vector<NearMiss>& nearest, const ExplainScope& scope) {
  choose_target(candidates, scope);
  const auto best =
      std::find_if(candidates.begin(), candidates.end(), [](const Candidate& c) { return c.chosen; });
  const bool found = best != candidates.end();
  const std::string reason =
      found ? fmt::format("{} is used: {}", best->kernel.target.to_string(), best->verdict)
            : fmt::format("no build of it runs on {}: {}", scope.device.to_string(),
                          candidates.front().verdict);
  const std::string fix =
      found ? ""
            : "import a folder that holds it for " + scope.device.to_string() + ", or ask for another kernel";
  nlohmann::json document = {
      {"kernel", subject}, {"device", scope.device.to_string()},    {"policy", describe(scope.policy)},
      {"chosen", nullptr}, {"candidates", nlohmann::json::array()}, {"reason", reason},
      {"fix", fix},        {"nearest", nlohmann::json::array()}};
  std::string text = fmt::format("{} on {}\n{}", printable(subject), scope.device.to_string(), reason);
  for (const Candidate& candidate : candidates) {
    const PlainKernel& kernel = candidate.kernel;
    nlohmann::json described = {{"function", kernel.function_name},    {"target", kernel.target.to_string()},
                                {"sha256", kernel.digest.to_hex()},    {"source", candidate.source},
                                {"shared_bytes", kernel.shared_bytes}, {"threads", kernel.threads},
                                {"verdict", candidate.verdict}};
    if (candidate.chosen) document["chosen"] = described;
    document["candidates"].push_back(std::move(described));
    text += fmt::format("\n{} {:<9} {} ({}): {}", candidate.chosen ? "*" : " ", kernel.target.to_string(),
                        printable(kernel.function_name), printable(candidate.source), candidate.verdict);
  }
  for (std::size_t i = 0; !found && i < nearest.size(); ++i) {
    document["nearest"].push_back(describe_near_row(nearest[i]));
    text += "\nnear: " + nearest[i].to_string(scope.device);
  }
  if (!fix.empty()) text += "\nto have it: " + fix;
  if (!found) document.update(error_document(Error{ErrorCode::not_found, reason, fix}));
  context.console().text(text);
  context.console().document(document);
  return found ? ExitStatus::done : ExitStatus::negative;
}

}  // namespace

Result<std::optional<ExitStatus>> explain_row(const Context& context, KernelKey key,
                                              const ExplainScope& scope) {
  CUBINET_TRY_ASSIGN(std::vector<KernelRow> rows, rows_of_home(context));
  std::optional<KernelRow> wanted;
  for (const KernelRow& row : rows) {
    if (identify(published_spec(row), row.target).key() == key) wanted = row;
  }
  if (!wanted) return std::optional<ExitStatus>();
  std::vector<Candidate> candidates;
  for (const KernelRow& row : rows) {
    if (!(published_spec(row) == published_spec(*wanted))) continue;
    candidates.push_back({{row.function_name, row.shared_bytes, row.threads, row.target, row.digest},
                          row.provenance.source,
                          "",
                          false});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.kernel.target < b.kernel.target; });
  const std::string name = candidates.front().kernel.function_name;
  return std::optional(report(context, name, std::move(candidates),
                              near_rows(std::move(rows), wanted->selector, scope), scope));
}

Result<std::optional<ExitStatus>> explain_function(const Context& context, const std::string& name,
                                                   const ExplainScope& scope) {
  const auto registry = context.registry_to_read();
  if (registry == nullptr) return std::optional<ExitStatus>();
  CUBINET_TRY_ASSIGN(const std::vector<PlainKernel> kernels, registry->artifacts().find_named(name));
  if (kernels.empty()) return std::optional<ExitStatus>();
  std::vector<Candidate> candidates;
  for (const PlainKernel& kernel : kernels)
    candidates.push_back({kernel, "imported", "", false});
  return std::optional(report(context, name, std::move(candidates), {}, scope));
}

}  // namespace cubinet::cli
