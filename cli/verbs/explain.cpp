// SPDX-License-Identifier: Apache-2.0
#include "explain.hpp"

#include "arguments.hpp"
#include "describe.hpp"
#include "kernel_arguments.hpp"
#include "target_options.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

struct ExplainOptions {
  std::string subject;
  std::vector<std::string> parameters;
  TemplateSources sources;
  std::vector<std::string> bundles;
  std::string device;
  TargetOptions targets;
};

nlohmann::json describe_candidate(const ExplainedCandidate& candidate) {
  nlohmann::json described = describe(*candidate.record);
  described["source"] = to_string(candidate.source);
  described["place"] = candidate.place.string();
  described["usable"] = candidate.usable;
  described["verdict"] = candidate.verdict;
  return described;
}

nlohmann::json describe_target(const ExplainedTarget& target) {
  nlohmann::json described = {
      {"target", target.target.to_string()}, {"refused", nullptr}, {"candidates", nlohmann::json::array()}};
  if (target.refused) described["refused"] = *target.refused;
  for (const ExplainedCandidate& candidate : target.candidates)
    described["candidates"].push_back(describe_candidate(candidate));
  return described;
}

nlohmann::json describe_near(const NearKernel& near) {
  nlohmann::json described = describe(*near.record);
  described["differences"] = near.differences;
  described["target_verdict"] = near.target_verdict;
  return described;
}

std::string reason_of(const KernelExplanation& explanation) {
  if (const ExplainedCandidate* choice = explanation.choice()) {
    const ExplainedTarget& target = explanation.targets[explanation.chosen->target];
    return fmt::format("{} is used: {}", target.target.to_string(), choice->verdict);
  }
  if (explanation.would_compile) {
    return fmt::format("no build that may be used lies anywhere: it would be compiled for {}",
                       explanation.would_compile->to_string());
  }
  return "no build that may be used lies anywhere, and none can be made: " +
         (explanation.cannot_compile ? explanation.cannot_compile->message
                                     : std::string("no target is left"));
}

std::string text_of(const KernelExplanation& explanation, const std::string& fix) {
  std::string text = fmt::format("{} on {}\n{}", explanation.spec.to_string(), explanation.device.to_string(),
                                 printable(reason_of(explanation)));
  if (const std::string policy = explanation.policy.to_string(); !policy.empty())
    text += "\npolicy: " + policy;
  text += "\nlooked for, best first:";
  for (std::size_t i = 0; i < explanation.targets.size(); ++i) {
    const ExplainedTarget& target = explanation.targets[i];
    const std::string name = target.target.to_string();
    if (target.refused) text += fmt::format("\n  {:<13} refused: {}", name, *target.refused);
    // PTX is made only where somebody asks for it: what is not there is not worth a line.
    if (!target.refused && target.candidates.empty() && target.target.kind == ImageKind::cubin)
      text += fmt::format("\n  {:<13} no build", name);
    for (std::size_t k = 0; k < target.candidates.size(); ++k) {
      const ExplainedCandidate& candidate = target.candidates[k];
      const bool chosen =
          explanation.chosen && explanation.chosen->target == i && explanation.chosen->candidate == k;
      text +=
          fmt::format("\n{} {:<13} {} {}: {}", chosen ? "*" : " ", name, to_string(candidate.source),
                      candidate.record->fingerprint.to_string().substr(0, 12), printable(candidate.verdict));
    }
  }
  for (const NearKernel& near : explanation.nearest) {
    std::string why = join(near.differences);
    if (!near.target_verdict.empty()) why += (why.empty() ? "" : "; ") + near.target_verdict;
    text += fmt::format("\nnear: {} for {}: {}", near.record->identity.key().to_string(),
                        near.record->target_name(), printable(why));
  }
  if (!fix.empty()) text += "\nto have it: " + printable(fix);
  return text;
}

Result<ExitStatus> explain_spec(const Context& context, const TemplateCatalog& catalog,
                                const KernelSpec& spec, const ExplainOptions& options,
                                const ExplainScope& scope) {
  CUBINET_TRY_ASSIGN(const auto runtime, context.runtime(catalog, compile_options(options.sources), {},
                                                         options.bundles, scope.policy));
  const auto explained = runtime->explain(spec, scope.device);
  if (!explained) return context.fail(explained.error(), ExitStatus::usage);
  const KernelExplanation& explanation = *explained;
  std::string fix;
  if (explanation.would_compile) {
    fix = compile_command(explanation.spec, *explanation.would_compile) + options.sources.to_arguments();
    if (context.home_origin() == "--home") fix += " --home " + shell_quoted(context.home()->string());
  } else if (explanation.cannot_compile) {
    fix = explanation.cannot_compile->remedy;
  }
  nlohmann::json document = describe(explanation.spec);
  document["device"] = scope.device.to_string();
  document["policy"] = describe(scope.policy);
  document["chosen"] = nullptr;
  if (const ExplainedCandidate* choice = explanation.choice())
    document["chosen"] = describe_candidate(*choice);
  document["would_compile"] = nullptr;
  if (explanation.would_compile) document["would_compile"] = explanation.would_compile->to_string();
  document["cannot_compile"] = nullptr;
  if (explanation.cannot_compile)
    document["cannot_compile"] = error_document(*explanation.cannot_compile)["error"];
  document["targets"] = nlohmann::json::array();
  for (const ExplainedTarget& target : explanation.targets)
    document["targets"].push_back(describe_target(target));
  document["nearest"] = nlohmann::json::array();
  for (const NearKernel& near : explanation.nearest)
    document["nearest"].push_back(describe_near(near));
  document["reason"] = reason_of(explanation);
  document["fix"] = fix;
  const bool answered = explanation.chosen || explanation.would_compile;
  if (!answered)
    document.update(error_document(
        Error{explanation.cannot_compile ? explanation.cannot_compile->code : ErrorCode::not_found,
              reason_of(explanation), fix}));
  context.console().text(text_of(explanation, fix));
  context.console().document(document);
  return answered ? ExitStatus::done : ExitStatus::negative;
}

// A key says which kernel is meant; the kernel is then explained for the device, whatever target the key has.
Result<std::optional<ExitStatus>> explain_key(const Context& context, const TemplateCatalog& catalog,
                                              KernelKey key, const ExplainOptions& options,
                                              const ExplainScope& scope) {
  std::vector<std::shared_ptr<const CubinRecord>> records;
  if (const auto registry = context.registry_to_read()) {
    CUBINET_TRY_ASSIGN(records, registry->find_key(key));
  }
  for (const std::string& bundle_path : options.bundles) {
    CUBINET_TRY_ASSIGN(const auto bundle, Bundle::open(context.files(), bundle_path));
    for (const auto& record : bundle->records())
      if (record->identity.key() == key) records.push_back(record);
  }
  if (records.empty()) return explain_row(context, key, scope);
  const KernelSpec spec = spec_of(*records.front());
  const auto known = catalog.find(spec.name);
  if (!known) {
    return context.fail(Error{known.error().code,
                              fmt::format("the key {} is of {}: {}", key.to_string(), spec.to_string(),
                                          known.error().message),
                              "give the template with --template-file"},
                        ExitStatus::usage);
  }
  CUBINET_TRY_ASSIGN(const ExitStatus status, explain_spec(context, catalog, spec, options, scope));
  return std::optional(status);
}

Result<ExitStatus> explain(const Context& context, const ExplainOptions& options) {
  ExplainScope scope;
  CUBINET_TRY_ASSIGN(scope.device, ComputeCapability::parse(options.device));
  CUBINET_TRY_ASSIGN(scope.policy, parse_target_policy(options.targets));
  CUBINET_TRY_ASSIGN(const TemplateCatalog catalog, context.catalog(options.sources.template_files));
  const auto kernel_template = catalog.find(options.subject);
  if (kernel_template) {
    const auto spec = parse_parameters(**kernel_template, options.parameters);
    if (!spec) return context.fail(spec.error(), ExitStatus::usage);
    return explain_spec(context, catalog, *spec, options, scope);
  }
  if (!options.parameters.empty()) return context.fail(kernel_template.error(), ExitStatus::usage);
  std::optional<ExitStatus> status;
  if (const auto key = KernelKey::parse(options.subject)) {
    CUBINET_TRY_ASSIGN(status, explain_key(context, catalog, *key, options, scope));
  } else {
    CUBINET_TRY_ASSIGN(status, explain_function(context, options.subject, scope));
  }
  if (status) return *status;
  return context.fail(
      Error{ErrorCode::not_found,
            fmt::format("'{}' is no template, no key that the home or a bundle holds, and no function of an "
                        "imported folder",
                        options.subject.substr(0, 200)),
            "`cubinet templates` lists templates, `cubinet registry list` keys, `cubinet import-artifacts` "
            "brings published cubins"},
      ExitStatus::negative);
}

}  // namespace

void add_explain(CLI::App& root, Action& chosen) {
  CLI::App* verb = root.add_subcommand(
      "explain",
      "Say which build of a kernel a device would get, and why; needs no GPU and compiles nothing");
  auto options = std::make_shared<ExplainOptions>();
  verb->add_option("KERNEL", options->subject,
                   "A template (with -p), a key, or the name of a function of an imported folder")
      ->required()
      ->type_name("");
  add_parameters(*verb, options->parameters);
  add_template_sources(*verb, options->sources);
  add_text(*verb, "--device", options->device, "DEVICE", "sm_90 or 9.0")->required();
  add_list(*verb, "--bundle", options->bundles, "FILE", "Look into this bundle too; may be repeated");
  add_target_options(*verb, options->targets);
  verb->footer(R"(Status 1 when no build may be used and none could be made.

Examples:
  cubinet explain rms_norm -p hidden_size=4096 --device sm_90
  cubinet explain 0123456789abcdef --device 10.3 --prefer family
  cubinet explain attention_decode -p head_dim_qk=128 -p head_dim_v=128 --device 9.0 --forbid sm_90a --json)");
  choose<ExplainOptions>(*verb, chosen, options, explain);
}

}  // namespace cubinet::cli
