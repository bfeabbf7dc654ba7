// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/kernel_table/column.hpp>
#include <cubinet/kernel_table/row_codec.hpp>
#include <cubinet/session/attention_json.hpp>
#include <cubinet/session/json.hpp>

#include <fmt/format.h>

namespace cubinet {
namespace {

nlohmann::json or_null(std::uint32_t value, std::uint32_t absent) {
  return value == absent ? nlohmann::json(nullptr) : nlohmann::json(value);
}

nlohmann::json describe_workspace(const WorkspaceSizes& sizes) {
  return {{"counter_bytes", sizes.counter_bytes},
          {"scratch_bytes", sizes.scratch_bytes},
          {"partial_output_bytes", sizes.partial_output_bytes},
          {"partial_stats_bytes", sizes.partial_stats_bytes}};
}

nlohmann::json describe_launch(const AttentionPlan& plan) {
  const PlanStep& main = plan.steps[plan.attention_step()];
  nlohmann::json described = {{"threads", main.threads},
                              {"shared_bytes", main.shared_bytes},
                              {"heads_per_cta", plan.division.heads_per_block},
                              {"tokens_per_cta_q", plan.division.tokens_per_block},
                              {"wasted_rows", plan.division.wasted_rows},
                              {"reduction", nullptr}};
  const std::size_t next = plan.attention_step() + 1;
  if (plan.steps.size() > next)
    described["reduction"] = {{"grid", plan.steps[next].grid}, {"threads", plan.steps[next].threads}};
  return described;
}

// Adds the tiles that the cost model compared, and those that no row has.
void add_candidates(const AttentionPlan& plan, nlohmann::json& document) {
  auto candidates = nlohmann::json::array();
  auto missing = nlohmann::json::array();
  for (const AttentionPlan::Candidate& candidate : plan.candidates) {
    if (!candidate.exists) {
      missing.push_back(candidate.tile_size_q);
      continue;
    }
    candidates.push_back({{"tile_size_q", candidate.tile_size_q},
                          {"kv_splits", candidate.kv_splits},
                          {"ctas", candidate.blocks},
                          {"time", candidate.time}});
  }
  document["candidates"] = std::move(candidates);
  document["missing_candidates"] = std::move(missing);
}

// Returns the key under which stores have the kernel that the plan launches. A template's kernel is
// identified by its specification, a published one by its row.
std::string key_text(const AttentionPlan& plan) {
  const auto* spec = std::get_if<KernelSpec>(&plan.steps[plan.attention_step()].kernel);
  const KernelIdentity identity = spec != nullptr && spec->maker == KernelMaker::kernel_template
                                      ? identify(*spec, plan.row.target)
                                      : identify(plan.row);
  return identity.key().to_string();
}

// Adds the page size. A kernel whose row states none takes that of the problem as an argument.
void add_pages(const AttentionPlan& plan, nlohmann::json& document) {
  const KernelSelector& selector = plan.row.selector;
  const bool any = selector.tokens_per_page == 0 && selector.layout == QkvLayout::paged_kv;
  document["page_size"] = any ? plan.request.problem.tokens_per_page : selector.tokens_per_page;
  document["dynamic_page"] = any || selector.dynamic_page;
}

void add_row(const AttentionPlan& plan, nlohmann::json& document) {
  for (const char* field : {"key", "target", "function", "digest", "source"})
    document[field] = nullptr;
  if (plan.row.function_name.empty()) return;
  document["key"] = key_text(plan);
  document["target"] = plan.row.target.to_string();
  document["function"] = plan.row.function_name;
  if (plan.exists()) document["digest"] = plan.row.digest.to_hex();
  if (!plan.row.source.empty()) document["source"] = plan.row.source;
}

}  // namespace

nlohmann::json describe(const AttentionProblem& problem) {
  return {{"phase", problem.is_generation() ? "generation" : "context"},
          {"batch", problem.batch},
          {"q_len", problem.q_len},
          {"kv_len", problem.kv_len},
          {"heads_q", problem.heads_q},
          {"heads_kv", problem.heads_kv},
          {"head_dim_qk", problem.head_dim_qk},
          {"head_dim_v", problem.head_dim_v},
          {"dtype_q", to_string(problem.data_type_q)},
          {"dtype_kv", to_string(problem.data_type_k)},
          {"dtype_o", to_string(problem.data_type_o)},
          {"layout", to_string(problem.layout)},
          {"page_size", problem.tokens_per_page},
          {"mask", to_string(problem.mask)},
          {"window", or_null(problem.window, kUnlimited)},
          {"sinks", problem.sinks},
          {"kv_scales", to_string(problem.kv_scales)},
          {"numerics", to_string(problem.numerics)},
          {"append", problem.append.has_value()},
          {"lengths_exclude_new", problem.append && problem.append->lengths_exclude_new}};
}

nlohmann::json describe(const AttentionPlan& plan) {
  const KernelSelector& selector = plan.row.selector;
  const PlanStep& main = plan.steps[plan.attention_step()];
  nlohmann::json document = {{"backend", plan.backend_name()},
                             {"kernel_type", to_string(selector.kernel_type)},
                             {"tile_size_q", selector.tile_size_q},
                             {"tile_size_kv", selector.tile_size_kv},
                             {"head_dim_per_cta_v", selector.head_dim_per_cta_v},
                             {"two_cta", selector.two_cta},
                             {"multi_ctas_kv_mode", to_string(plan.division.kv_mode)},
                             {"scheduler", to_string(selector.scheduler)},
                             {"kv_splits", plan.division.kv_splits},
                             {"grid", main.grid},
                             {"cluster_x", main.cluster_x},
                             {"passes", plan.passes},
                             {"mask", to_string(selector.mask)},
                             {"launch", describe_launch(plan)},
                             {"workspace", describe_workspace(plan.workspace)},
                             {"exists", plan.exists()},
                             {"launchable", plan.launchable()},
                             {"not_launchable", nullptr},
                             {"specification", nullptr},
                             {"choice", to_string(plan.choice)},
                             {"estimated_microseconds", nullptr}};
  if (!plan.launchable()) document["not_launchable"] = plan.not_launchable;
  const auto* spec = std::get_if<KernelSpec>(&main.kernel);
  if (spec != nullptr && spec->maker == KernelMaker::kernel_template)
    document["specification"] = describe(*spec);
  if (plan.cost.in_microseconds) document["estimated_microseconds"] = plan.cost.time;
  document["measured"] = plan.measured.empty() ? nlohmann::json(nullptr) : nlohmann::json(plan.measured);
  add_pages(plan, document);
  add_candidates(plan, document);
  add_row(plan, document);
  return document;
}

nlohmann::json describe(const SharedPrefixPlan& plan) {
  nlohmann::json own = describe(plan.own.plan);
  nlohmann::json prefix = describe(plan.prefix.plan);
  own["trace"] = trace_of(plan.own.plan);
  prefix["trace"] = trace_of(plan.prefix.plan);
  return {{"own", std::move(own)},
          {"prefix", std::move(prefix)},
          {"merge", AttentionMerge::specification(plan.merge).to_string()},
          {"time", plan.time()}};
}

nlohmann::json describe_declines(const AttentionResolution& resolution) {
  auto declines = nlohmann::json::array();
  for (const BackendDecline& decline : resolution.declined)
    declines.push_back({{"backend", decline.backend}, {"reason", decline.reason}});
  return declines;
}

nlohmann::json describe(const AttentionResolution& resolution) {
  const PlanRequest& request = resolution.plan->request;
  nlohmann::json document = describe(*resolution.plan);
  document["requested"] = resolution.requested;
  document["declines"] = describe_declines(resolution);
  document["problem"] = describe(request.problem);
  document["device"] = {{"capability", request.device.capability.to_string()},
                        {"sm_count", request.device.sm_count}};
  return document;
}

nlohmann::json describe(const NearMiss& miss, ComputeCapability device) {
  nlohmann::json described = {{"function", miss.row->function_name},
                              {"target", miss.row->target.to_string()},
                              {"key", identify(*miss.row).key().to_string()},
                              {"runs_here", miss.runs_here},
                              {"architecture", why_not_on(miss.row->target, device)},
                              {"differences", nlohmann::json::array()}};
  for (const ColumnDifference& difference : differences(miss.wanted, miss.row->selector)) {
    described["differences"].push_back({{"column", difference.column->name},
                                        {"wanted", column_text(*difference.column, difference.wanted)},
                                        {"found", column_text(*difference.column, difference.found)}});
  }
  return described;
}

std::string summary_of(const AttentionPlan& plan) {
  const KernelSelector& selector = plan.row.selector;
  const std::string name =
      plan.row.function_name.empty()
          ? "a kernel that is assumed to exist"
          : fmt::format("{} for {}{}", plan.row.function_name, plan.row.target.to_string(),
                        plan.exists() ? "" : ", not compiled yet");
  const PlanStep& main = plan.steps[plan.attention_step()];
  const std::uint32_t splits = plan.division.kv_splits;
  return fmt::format("{}: {} {}x{}{}, {} columns of V a CTA, {}, {}, {}, grid {}x{}x{}{}", name,
                     to_string(selector.kernel_type), selector.tile_size_q, selector.tile_size_kv,
                     selector.two_cta ? " with a pair of CTAs" : "", selector.head_dim_per_cta_v,
                     to_string(plan.division.kv_mode), to_string(selector.scheduler),
                     splits > 1 ? plural(splits, "KV split") : "KV not split", main.grid[0], main.grid[1],
                     main.grid[2], main.cluster_x > 1 ? fmt::format(", clusters of {}", main.cluster_x) : "");
}

std::vector<std::string> trace_of(const AttentionPlan& plan) {
  std::vector<std::string> lines = plan.trace;
  if (!plan.measured.empty()) lines.push_back(plan.measured);
  if (plan.cost.in_microseconds) lines.push_back(fmt::format("{:.1f} us by the cost model", plan.cost.time));
  return lines;
}

}  // namespace cubinet
