// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "attention_arguments.hpp"
#include "describe.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/attention/planner.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/kernel_explanation.hpp>
#include <cubinet/session/attention_json.hpp>
#include <cubinet/session/checked_shared_prefix.hpp>
#include <cubinet/session/explanation_json.hpp>
#include <cubinet/session/launch_record.hpp>
#include <cubinet/session/table_store.hpp>
#include <cubinet/session/workload.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace cubinet::cli {
namespace {

struct SelectOptions {
  AttentionArguments problem;
  DeviceArguments device;
  TargetOptions targets;
  std::string backend{kAutomaticBackend};
  std::string rules;  // empty: the newest that fit the rows
  std::string table;
  std::string device_name;
  std::string workload;  // a file; empty: none
  Places places;
  bool assume_all_kernels = false;
  bool launch = false;
  bool no_programmatic_launch = false;
  std::vector<std::string> addresses;
};

// Returns the planner of a Runtime over the home and the bundles, or over the table.
Result<AttentionPlanner> planner_for(const Context& context, const SelectOptions& options,
                                     const DeviceFacts& device, const TargetPolicy& policy) {
  if (options.assume_all_kernels) return AttentionPlanner::over({}, device, options.device_name);
  OpenedStores opened;
  if (options.table.empty()) {
    CUBINET_TRY_ASSIGN(opened, context.stores(options.places, HomeOptions::Access::read_only));
  } else {
    CUBINET_TRY_ASSIGN(opened.stores.emplace_back(), open_table(options.table, context.console().log_sink()));
  }
  CUBINET_TRY_ASSIGN(TemplateCatalog templates, context.catalog({}));
  CUBINET_TRY_ASSIGN(const auto runtime,
                     context.runtime_to_ask(std::move(opened), std::move(templates), policy));
  CUBINET_TRY_ASSIGN(const DeviceRows found, runtime->rows(device.capability));
  if (found.stale + found.foreign > 0) {
    context.console().message(
        LogLevel::info,
        fmt::format("{} left out: {} stale, {} of another interface version",
                    plural(found.stale + found.foreign, "kernel"), found.stale, found.foreign));
  }
  return AttentionPlanner::over(found, device, options.device_name, runtime->can_compile());
}

struct Question {
  AttentionProblem problem;
  std::optional<SharedPrefixProblem> shared;  // if set, `problem` is the one with the prefix
  PlanOptions options;
  AttentionPlanner planner;
  std::vector<TensorAddress> addresses;
};

// Returns whether published cubins could serve the problem.
bool published_may_serve(const Question& question) {
  const std::string& backend = question.options.backend;
  if (backend != kAutomaticBackend && backend != kPublishedBackend) return false;
  PlanOptions assuming = question.options;
  assuming.backend = kPublishedBackend;
  assuming.assumes_all_kernels = true;
  assuming.launches = false;
  return static_cast<bool>(question.planner.plan(question.problem, assuming));
}

// Returns commands that would let the problem be served.
std::vector<std::string> fixes_for(const Context& context, const SelectOptions& options,
                                   const Question& question) {
  std::vector<std::string> fixes;
  const bool published = !question.planner.kernels().of(kPublishedImplementation).rows().empty();
  if (options.table.empty() && !published && published_may_serve(question))
    fixes.push_back("cubinet import-artifacts FOLDER" + context.given_places());
  if (question.options.targets != TargetPolicy{})
    fixes.emplace_back("the same command without --prefer, --forbid and --pin");
  PlanOptions launching = question.options;
  launching.backend = kTemplatesBackend;
  launching.launches = true;
  const auto ours = question.planner.plan(question.problem, launching);
  if (!ours) return fixes;
  const auto* spec = std::get_if<KernelSpec>(&ours->steps[ours->attention_step()].kernel);
  if (spec != nullptr) fixes.push_back(compile_command(*spec, ours->row.target) + context.given_places());
  return fixes;
}

// Returns the rows that are nearest to the request that a backend declined, and the mismatches of
// each row.
nlohmann::json describe_nearest(const BackendDecline& decline, const Question& question) {
  auto nearest = nlohmann::json::array();
  for (const NearMiss& miss : decline.nearest) {
    nearest.push_back(describe(miss, question.planner.device().capability));
    const auto refusal = question.options.targets.refusal(miss.row->target);
    nearest.back()["policy"] = refusal ? nlohmann::json(*refusal) : nlohmann::json(nullptr);
  }
  return nearest;
}

ExitStatus report_none(const Context& context, const SelectOptions& options, const Question& question,
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
    if (decline.trace.empty()) continue;
    document["nearest"] = describe_nearest(decline, question);
    document["trace"] = decline.trace;
    for (const std::string& line : decline.trace)
      text += "\n" + printable(line);
  }
  const std::vector<std::string> fixes = fixes_for(context, options, question);
  document["fixes"] = fixes;
  for (const std::string& fix : fixes)
    text += "\ntry: " + printable(fix);
  context.console().document(document);
  if (!context.console().json()) context.console().error(error);
  if (!text.empty()) context.console().text(text.substr(1));
  return ExitStatus::negative;
}

// Prints the launches as the driver would receive them, at made-up addresses.
Result<ExitStatus> report_launches(const Context& context, const Question& question,
                                   const AttentionResolution& resolution) {
  const AttentionPlan& plan = *resolution.plan;
  CUBINET_TRY_ASSIGN(const AttentionTensors tensors, made_up_tensors(plan, question.addresses));
  nlohmann::json document = launch_record(plan, tensors);
  document["backend"] = plan.backend_name();
  document["requested"] = resolution.requested;
  document["declines"] = describe_declines(resolution);
  context.console().document(document);
  context.console().text(json_text(document));
  return ExitStatus::done;
}

// Returns the reasons for a plan, each on an indented line of its own.
std::string trace_text(const AttentionPlan& plan) {
  std::string text;
  for (const std::string& line : trace_of(plan))
    text += "\n  " + printable(line);
  return text;
}

void report(const Context& context, const Question& question, const AttentionResolution& resolution) {
  const AttentionPlan& plan = *resolution.plan;
  const std::string summary = summary_of(plan);
  nlohmann::json document = describe(resolution);
  document["order"] = resolution.order;
  document["reason"] = summary;
  document["trace"] = trace_of(plan);
  document["policy"] = describe(question.options.targets);
  context.console().document(document);

  std::string text = fmt::format("{}\nbackend    {} ({}: {})", printable(summary), plan.backend_name(),
                                 resolution.requested, resolution.order);
  for (const BackendDecline& decline : resolution.declined)
    text += fmt::format("\ndeclined   {}: {}", decline.backend, printable(decline.reason));
  text += fmt::format("\nworkspace  {} of scratch, {} of counters", plan.workspace.scratch_bytes,
                      plan.workspace.counter_bytes);
  if (!plan.launchable()) text += "\nlaunch     no: " + plan.not_launchable;
  context.console().text(text + trace_text(plan));
}

void report(const Context& context, const Question& question, const SharedPrefixPlan& plan) {
  const DeviceFacts& device = question.planner.device();
  nlohmann::json document = describe(plan);
  document["problem"] = describe(question.problem);
  document["shared_prefix"] = plan.problem.prefix_len;
  document["device"] = {{"capability", device.capability.to_string()}, {"sm_count", device.sm_count}};
  document["requested"] = question.options.backend;
  document["policy"] = describe(question.options.targets);
  context.console().document(document);
  for (const auto& [name, part] : {std::pair{"own tokens", &plan.own}, std::pair{"prefix", &plan.prefix}}) {
    context.console().text(fmt::format("{:<10} {} ({}){}", name, printable(summary_of(part->plan)),
                                       part->plan.backend_name(), trace_text(part->plan)));
  }
  context.console().text("merge      " + AttentionMerge::specification(plan.merge).to_string());
}

// Returns whether the rows are given or assumed. In this case `auto` uses only the publisher's
// rules.
bool has_given_rows(const SelectOptions& options) {
  return options.assume_all_kernels || !options.table.empty();
}

Result<std::vector<TensorAddress>> addresses_of(const SelectOptions& options) {
  std::vector<TensorAddress> addresses;
  for (const std::string& text : options.addresses) {
    const std::size_t split = std::min(text.find("=0x"), text.size());
    TensorAddress given{text.substr(0, split), 0};
    const char* const end = text.data() + text.size();
    const auto parsed =
        std::from_chars(text.data() + std::min(split + 3, text.size()), end, given.address, 16);
    if (parsed.ec != std::errc() || parsed.ptr != end) {
      return Error{ErrorCode::invalid_argument,
                   fmt::format("--address: '{}' is no address of a tensor", text),
                   "write NAME=0x…, such as k=0x7f0000000000"};
    }
    addresses.push_back(std::move(given));
  }
  return addresses;
}

Result<Question> question_of(const Context& context, const SelectOptions& options) {
  if (options.launch && options.problem.shared_prefix != 0) {
    return Error{ErrorCode::invalid_argument,
                 "--launch prints the launches of one attention, and a shared prefix makes two",
                 "leave --launch or --shared-prefix out"};
  }
  CUBINET_TRY_ASSIGN(AttentionProblem problem, attention_problem_of(options.problem));
  // The recorded launches have this order (tests/cli/goldens).
  if (options.launch && options.problem.kv_order.empty()) problem.kv_order = KvOrder::hnd;
  PlanOptions plan;
  plan.backend = options.backend;
  if (has_given_rows(options) && options.backend == kAutomaticBackend) plan.backend = kPublishedBackend;
  // The publisher's rules also select and size kernels that cannot be launched.
  plan.launches = options.launch || plan.backend != kPublishedBackend;
  plan.assumes_all_kernels = options.assume_all_kernels;
  if (!options.rules.empty()) plan.rules = options.rules;
  plan.explains = true;
  plan.starts_early = options.launch && !options.no_programmatic_launch;
  CUBINET_TRY_ASSIGN(plan.targets, parse_target_policy(options.targets));
  CUBINET_TRY_ASSIGN(const DeviceFacts device, device_facts_of(options.device));
  CUBINET_TRY_ASSIGN(auto addresses, addresses_of(options));
  CUBINET_TRY_ASSIGN(auto shared, shared_prefix_of(options.problem, problem));
  CUBINET_TRY_ASSIGN(AttentionPlanner planner, planner_for(context, options, device, plan.targets));
  return Question{std::move(problem), std::move(shared), std::move(plan), std::move(planner),
                  std::move(addresses)};
}

WorkloadDevice workload_device_of(const SelectOptions& options, const DeviceFacts& device) {
  return {device.capability, device.sm_count, device.maximum_shared_bytes, options.device_name};
}

// Names the kernels of both attentions and of their merge.
Result<ExitStatus> select_shared(const Context& context, const SelectOptions& options,
                                 const Question& question) {
  const auto plan = plan_shared_prefix(without_lengths(*question.shared), question.planner, question.options);
  if (!plan && plan.error().code == ErrorCode::unsupported)
    return context.fail(plan.error(), ExitStatus::negative);
  if (!plan) return plan.error();
  if (!options.workload.empty()) {
    // The entries are those that a recording would have.
    const WorkloadDevice device = workload_device_of(options, question.planner.device());
    std::vector<WorkloadEntry> entries;
    for (const SharedPrefixPlan::Part* part : {&plan->own, &plan->prefix})
      entries.push_back({WorkloadAttention{part->problem, part->options}, {device}});
    entries.push_back({AttentionMerge::specification(plan->merge), {{device.capability}}});
    CUBINET_TRY(add_to_workload(options.workload, std::move(entries)));
  }
  report(context, question, *plan);
  return ExitStatus::done;
}

Result<ExitStatus> select_attention(const Context& context, const SelectOptions& options) {
  CUBINET_TRY_ASSIGN(const Question question, question_of(context, options));
  if (question.shared) return select_shared(context, options, question);
  CUBINET_TRY_ASSIGN(AttentionResolution resolution,
                     question.planner.resolve(question.problem, question.options));
  resolution.requested = options.backend;
  if (has_given_rows(options) && options.backend == kAutomaticBackend)
    resolution.order = "the rows were given";
  if (!resolution.plan) return report_none(context, options, question, resolution);
  if (!options.workload.empty()) {
    CUBINET_TRY(add_to_workload(options.workload, {question.problem, question.options},
                                workload_device_of(options, question.planner.device())));
  }
  if (options.launch) return report_launches(context, question, resolution);
  report(context, question, resolution);
  return ExitStatus::done;
}

}  // namespace

void add_select(CLI::App& root, Action& chosen) {
  CLI::App* select = root.add_subcommand("select", "Choose a kernel for a problem and say why; needs no GPU");
  select->require_subcommand(0, 1);
  CLI::App* verb =
      select->add_subcommand("attention", "The kernel, launch and workspace of an attention problem");
  auto options = std::make_shared<SelectOptions>();
  add_operation_argument(*verb, options->problem);
  add_attention_arguments(*verb, options->problem);
  add_device_arguments(*verb, options->device);
  add_text(*verb, "--device-name", options->device_name, "NAME",
           "What its driver calls it, \"NVIDIA H200\": measurements of it count (default: none do)");
  add_text(*verb, "--workload", options->workload, "FILE",
           "Add the problem to this workload (docs/workloads.md)");
  add_target_options(*verb, options->targets);
  add_text(*verb, "--backend", options->backend, "NAME",
           "auto (default), templates or published; a named one is asked alone");
  add_rules(*verb, options->rules);
  CLI::Option* table = add_text(*verb, "--table", options->table, "FILE",
                                "The rows of this published metadata header instead of the home's");
  CLI::Option* assumed = verb->add_flag("--assume-all-kernels", options->assume_all_kernels,
                                        "Take every kernel that the rules name to exist")
                             ->excludes(table);
  CLI::Option* launch =
      verb->add_flag("--launch", options->launch,
                     "Print what would be handed to the driver: launches, arguments, tensor maps");
  verb->add_flag("--no-programmatic-launch", options->no_programmatic_launch,
                 "The kernel starts when its predecessor has ended")
      ->needs(launch);
  add_list(*verb, "--address", options->addresses, "NAME=0x…", "Of a tensor, instead of the made-up one")
      ->needs(launch);
  add_places(*verb, options->places);
  verb->get_option("--bundle")->excludes(table)->excludes(assumed);
  verb->footer(
      R"(Status 1 when no kernel serves the problem: then the nearest rows are listed, with what differs.

Examples:
  cubinet select attention --op mla-decode --batch 8 --kv-len 4096 --heads-q 128 --device 10.0
  cubinet select attention --batch 32 --kv-len 8192 --heads-q 64 --heads-kv 8 --device sm_103 --sm-count 148 \
      --table flashInferMetaInfo.h --prefer family --json)");
  choose<SelectOptions>(*verb, chosen, options, select_attention);
  select->footer(
      "Example:\n  cubinet select attention --device sm_103 --op mla-decode --batch 8 --kv-len 4096 "
      "--heads-q 128");
}

}  // namespace cubinet::cli
