// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "describe.hpp"
#include "kernel_arguments.hpp"
#include "server_arguments.hpp"
#include "target_options.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/session/compilation.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cubinet::cli {
namespace {

struct KeyOptions {
  std::string subject;
  std::vector<std::string> parameters;
  std::vector<std::string> targets;
  TemplateSources sources;
  Places places;
};

// Returns the targets of the kernel's existing builds, which are used if none are given.
std::vector<SmTarget> targets_of(const KernelExplanation& explanation) {
  std::vector<SmTarget> targets;
  for (const ExplainedBuild& build : explanation.builds)
    targets.push_back(build.record->target);
  std::sort(targets.begin(), targets.end());
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  return targets;
}

Result<ExitStatus> key(const Context& context, const KeyOptions& options) {
  CUBINET_TRY_ASSIGN(std::vector<SmTarget> targets, parse_targets(options.targets));
  CUBINET_TRY_ASSIGN(TemplateCatalog catalog, context.catalog(options.sources.template_files));
  CUBINET_TRY_ASSIGN(auto stores, context.stores(options.places, HomeOptions::Access::read_only));
  CUBINET_TRY_ASSIGN(CompileOptions compiling, compile_options(options.sources));
  CUBINET_TRY_ASSIGN(const auto runtime,
                     context.runtime_to_ask(std::move(stores), std::move(catalog), {}, compiling));
  const auto kernel = resolve_kernel(*runtime, options.subject, options.parameters);
  if (!kernel) return context.fail(kernel.error(), ExitStatus::usage);
  const KernelSpec& spec = (*kernel)->spec();
  if (targets.empty()) {
    CUBINET_TRY_ASSIGN(const KernelExplanation explanation, runtime->explain(**kernel, {}));
    targets = targets_of(explanation);
    if (targets.empty()) {
      return context.fail(Error{ErrorCode::invalid_argument, "no store has a build of it that had a target",
                                "name the targets with --target"},
                          ExitStatus::usage);
    }
  }
  const auto compiler = compiler_identity(*runtime);
  if (!compiler) context.console().message(LogLevel::info, compiler.error().to_line());
  nlohmann::json document = describe(spec);
  document["keys"] = nlohmann::json::array();
  std::string text = printable(spec.to_string());
  for (const SmTarget target : targets) {
    const KernelIdentity identity = identify(spec, target);
    const auto fingerprint = current_fingerprint(*runtime, compiling, spec, target);
    if (!fingerprint) return context.fail(fingerprint.error(), ExitStatus::usage);
    nlohmann::json described = {{"target", target.to_string()},
                                {"key", identity.key().to_string()},
                                {"encoding", to_hex(identity.encoding())},
                                {"fingerprint", nullptr}};
    if (*fingerprint) described["fingerprint"] = (*fingerprint)->to_string();
    text += fmt::format("\n{}\n  key          {}\n  encoding     {}\n  fingerprint  {}", target.to_string(),
                        identity.key().to_string(), to_hex(identity.encoding()),
                        *fingerprint ? (*fingerprint)->to_string()
                                     : "none: " + (compiler ? std::string("no template makes it")
                                                            : compiler.error().message));
    document["keys"].push_back(std::move(described));
  }
  if (compiler) {
    document["compiler"] = *compiler;
    text += "\nby " + *compiler;
  }
  context.console().text(text);
  context.console().document(document);
  return ExitStatus::done;
}

}  // namespace

void add_key(CLI::App& root, Action& chosen) {
  CLI::App* verb =
      root.add_subcommand("key", "Print a kernel's key, its encoding and today's build fingerprint");
  auto options = std::make_shared<KeyOptions>();
  verb->add_option(
          "KERNEL", options->subject,
          "A template (with -p), a key, or the name of a function, with @ and the beginning of a pin")
      ->required()
      ->type_name("");
  add_parameters(*verb, options->parameters);
  add_list(*verb, "--target", options->targets, "sm_90a[,...]",
           "The SM targets (default: those of the existing builds)");
  add_template_sources(*verb, options->sources);
  add_places(*verb, options->places);
  verb->footer(
      R"(The key and the encoding are the same on every machine. The fingerprint is that of the compiler found here.

Examples:
  cubinet key rms_norm -p hidden_size=4096 -p dtype=bf16 --target sm_90a,sm_100f
  cubinet key attention_decode -p head_dim_qk=128 -p head_dim_v=128 --target sm_80 --json)");
  choose<KeyOptions>(*verb, chosen, options, key);
}

}  // namespace cubinet::cli
