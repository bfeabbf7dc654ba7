// SPDX-License-Identifier: Apache-2.0
#include "device_filter.hpp"

#include "arguments.hpp"
#include "option_lines.hpp"

#include <cubinet/attention/planner.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/cubin_registry/judge.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cubinet::cli {
namespace {

Result<AttentionProblem> parse_problem(const OptionLine& line) {
  AttentionArguments arguments;
  CLI::App options;
  add_operation_argument(options, arguments);
  add_attention_arguments(options, arguments);
  CUBINET_TRY(parse_options(options, line));
  auto problem = attention_problem_of(arguments);
  if (problem) return problem;
  Error error = std::move(problem).error();
  error.message = line.where + ": " + error.message;
  return error;
}

// Returns the kernels of the problem's plan among existing builds, the selected one first.
Result<std::vector<KernelSpec>> kernels_of(const AttentionProblem& problem, const AttentionPlanner& planner) {
  CUBINET_TRY_ASSIGN(const AttentionPlan plan,
                     planner.plan(problem, {.launches = false, .may_compile = false}));
  std::vector<KernelSpec> specs;
  for (const PlanStep& step : plan.steps)
    if (const auto* spec = std::get_if<KernelSpec>(&step.kernel)) specs.push_back(*spec);
  return specs;
}

}  // namespace

void add_device_filter(CLI::App& verb, DeviceFilter& filter) {
  CLI::Option* device = add_text(verb, "--device", filter.device.device, "DEVICE",
                                 "Only kernels that this device (sm_103 or 10.3) can use");
  CLI::Option* problems =
      add_text(verb, "--problems", filter.problems, "FILE",
               "Only those that it needs for the problems in this file, one a line in the options of "
               "`select attention`")
          ->needs(device);
  add_sm_count(verb, filter.device)->needs(problems);
}

Result<DeviceWish> device_wish_of(const Context& context, const DeviceFilter& filter) {
  DeviceWish wish;
  if (filter.problems.empty()) {
    CUBINET_TRY_ASSIGN(wish.device.capability, ComputeCapability::parse(filter.device.device));
    return wish;
  }
  CUBINET_TRY_ASSIGN(wish.device, device_facts_of(filter.device));
  CUBINET_TRY_ASSIGN(const Bytes text, context.files()->read(filter.problems, kMaximumOptionFile));
  CUBINET_TRY_ASSIGN(const std::vector<OptionLine> lines, parse_option_lines(as_text(text), filter.problems));
  for (const OptionLine& line : lines) {
    CUBINET_TRY_ASSIGN(const AttentionProblem problem, parse_problem(line));
    wish.problems.push_back({line.text(), problem});
  }
  return wish;
}

Result<DeviceChoice> choose_for_device(const Context& context, const DeviceWish& wish,
                                       const std::shared_ptr<Store>& store, CubinRecords records) {
  DeviceChoice choice{std::move(records), {}};
  if (wish.problems.empty()) {
    const auto targets = targets_wanted(wish.device.capability, {});
    std::erase_if(choice.records, [&](const auto& record) {
      return std::find(targets.begin(), targets.end(), ImageTarget{record->target, record->kind}) ==
             targets.end();
    });
    return choice;
  }
  CUBINET_TRY_ASSIGN(TemplateCatalog templates, context.catalog({}));
  CUBINET_TRY_ASSIGN(const auto runtime, context.runtime_to_ask({store}, std::move(templates)));
  CUBINET_TRY_ASSIGN(const AttentionPlanner planner, AttentionPlanner::create(*runtime, wish.device));
  CubinRecords wanted;
  for (const auto& [line, problem] : wish.problems) {
    const auto specs = kernels_of(problem, planner);
    if (!specs) {
      if (specs.error().code != ErrorCode::unsupported) return specs.error();
      choice.unserved.push_back({line, specs.error().message});
      continue;
    }
    for (const KernelSpec& spec : *specs) {
      CUBINET_TRY_ASSIGN(const auto kernel, runtime->prepare(spec));
      CUBINET_TRY_ASSIGN(const KernelExplanation found, runtime->explain(*kernel, wish.device.capability));
      if (const ExplainedBuild* build = found.choice()) wanted.push_back(build->record);
    }
  }
  std::erase_if(choice.records, [&](const auto& record) {
    return std::none_of(wanted.begin(), wanted.end(), [&](const auto& one) { return *one == *record; });
  });
  return choice;
}

std::string unserved_text(const std::vector<UnservedProblem>& unserved) {
  std::string text;
  for (const auto& [line, reason] : unserved)
    text += fmt::format("\nnot served: {}: {}", printable(line), printable(reason));
  return text;
}

nlohmann::json describe(const std::vector<UnservedProblem>& unserved) {
  auto described = nlohmann::json::array();
  for (const auto& [line, reason] : unserved)
    described.push_back({{"problem", line}, {"reason", reason}});
  return described;
}

}  // namespace cubinet::cli
