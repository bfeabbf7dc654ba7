// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "attention_arguments.hpp"
#include "describe.hpp"
#include "describe_attention.hpp"
#include "kernel_rows.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

struct SelectOptions {
  AttentionArguments problem;
  TargetOptions targets;
  std::string backend{kAutomaticBackend};
  std::string table;
  bool assume_all_kernels = false;
};

Result<std::vector<KernelRow>> rows_for(const Context& context, const SelectOptions& options) {
  if (options.assume_all_kernels) return std::vector<KernelRow>{};
  return options.table.empty() ? rows_of_home(context) : rows_of_header(context, options.table);
}

// What would make a problem work that nothing serves.
std::vector<std::string> fixes_for(const SelectOptions& options, const AttentionProblem& problem,
                                   const BackendContext& context, const AttentionBackends& backends) {
  std::vector<std::string> fixes;
  const bool imported = context.imported_rows && !context.imported_rows->rows()->empty();
  if (options.table.empty() && !imported) fixes.emplace_back("cubinet import-artifacts FOLDER");
  if (context.policy.targets != TargetPolicy{})
    fixes.emplace_back("the same command without --prefer, --forbid and --pin");
  const auto ours = survey_backends(problem, kTemplatesBackend, AttentionPurpose::launch, context, backends);
  if (ours && ours->plan) fixes.push_back(compile_command(ours->plan->decode->spec, ours->plan->row->target));
  return fixes;
}

// The rows nearest to what a decline looked for, and what keeps each from being taken.
nlohmann::json describe_nearest(const BackendDecline& decline, const BackendContext& context) {
  auto nearest = nlohmann::json::array();
  if (!decline.selection || !context.imported_rows) return nearest;
  for (const NearMiss& miss :
       nearest_rows(*context.imported_rows, decline.selection->trace.wanted, kNearestShown)) {
    nearest.push_back(describe(miss, context.device.capability));
    const auto refusal = context.policy.targets.refusal(miss.row->target);
    nearest.back()["policy"] = refusal ? nlohmann::json(*refusal) : nlohmann::json(nullptr);
  }
  return nearest;
}

ExitStatus report_none(const Context& context, const SelectOptions& options, const AttentionProblem& problem,
                       const BackendContext& backends, const AttentionBackends& known,
                       const AttentionResolution& resolution) {
  const Error error = resolution.error();
  nlohmann::json document = error_document(error);
  document["requested"] = resolution.requested;
  document["backend"] = nullptr;
  document["reason"] = error.message;
  document["declines"] = describe_declines(resolution);
  document["nearest"] = nlohmann::json::array();
  document["trace"] = nlohmann::json::array();
  std::string text;
  for (const BackendDecline& decline : resolution.declined) {
    if (!decline.selection || !backends.imported_rows) continue;
    document["nearest"] = describe_nearest(decline, backends);
    auto lines = explain(problem, backends.device, *backends.imported_rows, *decline.selection);
    lines.erase(lines.begin());  // the reason of the decline
    document["trace"] = lines;
    for (const std::string& line : lines)
      text += "\n" + printable(line);
  }
  const std::vector<std::string> fixes = fixes_for(options, problem, backends, known);
  document["fixes"] = fixes;
  for (const std::string& fix : fixes)
    text += "\ntry: " + printable(fix);
  context.console().document(document);
  if (!context.console().json()) context.console().error(error);
  if (!text.empty()) context.console().text(text.substr(1));
  return ExitStatus::negative;
}

// Where the order of the backends comes from.
std::string order_of(const AttentionResolution& resolution) {
  if (resolution.rule != nullptr) return std::string(resolution.rule->source);
  return resolution.requested == kAutomaticBackend ? "the rows were given" : "named";
}

void report(const Context& context, const AttentionProblem& problem, const BackendContext& backends,
            const AttentionResolution& resolution) {
  const AttentionPlan& plan = *resolution.plan;
  const std::string summary = summary_of(plan);
  const std::vector<std::string> trace = trace_of(problem, backends, plan);
  const std::string order = order_of(resolution);
  nlohmann::json document = describe(plan);
  document["requested"] = resolution.requested;
  document["order"] = order;
  document["declines"] = describe_declines(resolution);
  document["reason"] = summary;
  document["trace"] = trace;
  document["problem"] = describe(problem);
  document["device"] = {{"capability", backends.device.capability.to_string()},
                        {"sm_count", backends.device.sm_count}};
  document["policy"] = describe(backends.policy.targets);
  context.console().document(document);

  std::string text = fmt::format("{}\nbackend    {} ({}: {})", printable(summary), plan.backend,
                                 resolution.requested, order);
  for (const BackendDecline& decline : resolution.declined)
    text += fmt::format("\ndeclined   {}: {}", decline.backend, printable(decline.reason));
  text += fmt::format("\nworkspace  {} of scratch, {} of counters", plan.workspace.scratch_bytes,
                      plan.workspace.counter_bytes);
  if (plan.not_launchable) text += "\nlaunch     no: " + *plan.not_launchable;
  for (const std::string& line : trace)
    text += "\n  " + printable(line);
  context.console().text(text);
}

Result<ExitStatus> select_attention(const Context& context, const SelectOptions& options) {
  CUBINET_TRY_ASSIGN(const AttentionProblem problem, attention_problem_of(options.problem));
  CUBINET_TRY_ASSIGN(const DeviceFacts device, device_facts_of(options.problem));
  SelectionPolicy policy;
  policy.assumes_all_kernels = options.assume_all_kernels;
  CUBINET_TRY_ASSIGN(policy.targets, parse_target_policy(options.targets));
  CUBINET_TRY_ASSIGN(const std::vector<KernelRow> rows, rows_for(context, options));
  const BackendContext backends = BackendContext::create(device, rows, policy);
  CUBINET_TRY_ASSIGN(const AttentionBackends known, AttentionBackends::builtin());
  // A table that is given, or assumed, is what the question is about.
  const bool table = options.assume_all_kernels || !options.table.empty();
  const bool automatic = options.backend == kAutomaticBackend;
  const std::string_view asked = table && automatic ? kImportedBackend : std::string_view(options.backend);
  CUBINET_TRY_ASSIGN(AttentionResolution resolution,
                     survey_backends(problem, asked, AttentionPurpose::select, backends, known));
  resolution.requested = options.backend;
  if (!resolution.plan) return report_none(context, options, problem, backends, known, resolution);
  report(context, problem, backends, resolution);
  return ExitStatus::done;
}

}  // namespace

void add_select(CLI::App& root, Action& chosen) {
  CLI::App* select = root.add_subcommand("select", "Choose a kernel for a problem and say why; needs no GPU");
  select->require_subcommand(0, 1);
  CLI::App* verb =
      select->add_subcommand("attention", "The kernel, launch and workspace of an attention problem");
  auto options = std::make_shared<SelectOptions>();
  add_attention_arguments(*verb, options->problem);
  add_target_options(*verb, options->targets);
  add_text(*verb, "--backend", options->backend, "NAME",
           "auto (default), templates or imported; a named one is asked alone");
  CLI::Option* table = add_text(*verb, "--table", options->table, "FILE",
                                "The rows of this published metadata header instead of the home's");
  verb->add_flag("--assume-all-kernels", options->assume_all_kernels,
                 "Take every kernel that the rules name to exist")
      ->excludes(table);
  verb->footer(
      R"(Status 1 when no kernel serves the problem: then the nearest rows are listed, with what differs.

Examples:
  cubinet select attention --op mla-decode --batch 8 --kv-len 4096 --heads-q 128 --device 10.0
  cubinet select attention --batch 32 --kv-len 8192 --heads-q 64 --heads-kv 8 --device sm_103 --sm-count 148 \
      --table flashInferMetaInfo.h --prefer family --json)");
  choose<SelectOptions>(*verb, chosen, options, select_attention);
}

}  // namespace cubinet::cli
