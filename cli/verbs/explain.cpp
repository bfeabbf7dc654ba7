// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "describe.hpp"
#include "kernel_arguments.hpp"
#include "server_arguments.hpp"
#include "target_options.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/session/explanation_json.hpp>
#include <cubinet/session/explanation_text.hpp>
#include <cubinet/session/journal.hpp>
#include <cubinet/session/trust_report.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

struct ExplainOptions {
  std::string subject;
  std::vector<std::string> parameters;
  TemplateSources sources;
  Places places;
  std::string device;
  TargetOptions targets;
  std::string since;
};

std::string fix_of(const Context& context, const ExplainOptions& options,
                   const KernelExplanation& explanation) {
  if (!explanation.would_compile) return explanation.cannot_compile ? explanation.cannot_compile->remedy : "";
  TemplateSources files = options.sources;  // the specification has the compiler's options
  files.definitions.clear();
  files.flags.clear();
  return compile_command(explanation.spec, *explanation.would_compile) + files.to_arguments() +
         context.given_places();
}

// Returns the command that makes a kernel of the journal. Sources, and templates that a program has
// in memory, are no arguments of a command.
std::string fix_of(const Context& context, const TemplateCatalog& builtin, const JournalEntry& entry) {
  const auto target = SmTarget::parse(entry.target);
  const bool is_template = entry.spec && entry.spec->maker == KernelMaker::kernel_template;
  if (!is_template || !target) return entry.remedy();
  if (entry.sources.template_files.empty() && !builtin.find(entry.spec->name)) return entry.remedy();
  TemplateSources files;
  files.template_files = entry.sources.template_files;
  files.include_directories = entry.sources.include_directories;
  files.library_directories = entry.sources.library_directories;
  return compile_command(*entry.spec, *target) + files.to_arguments() + context.given_places();
}

Result<ExitStatus> explain_journal(const Context& context, const ExplainOptions& options) {
  CUBINET_TRY_ASSIGN(const auto home, context.open_existing_registry());
  const std::string origin = context.home_origin();
  if (home == nullptr && (origin == "--home" || origin == "CUBINET_HOME")) {
    CUBINET_TRY_ASSIGN(const std::string place, context.place_of(nullptr));
    return Error{ErrorCode::not_found, fmt::format("the home '{}' does not exist", printable(place)),
                 "check " + origin};
  }
  JournalReport report;
  if (home != nullptr) {
    CUBINET_TRY_ASSIGN(report, read_journal(*home, {options.since, options.subject}));
  }
  CUBINET_TRY_ASSIGN(const TemplateCatalog builtin, TemplateCatalog::builtin());
  for (const JournalEntry& entry : report.entries)
    context.console().text(to_text(entry) + "\n  to have it: " + printable(fix_of(context, builtin, entry)));
  if (report.entries.empty()) context.console().text("nothing was compiled for a request");
  if (report.damaged + report.newer > 0) {
    context.console().message(LogLevel::warning,
                              fmt::format("{} of the journal cannot be read, {} of a newer cubinet",
                                          plural(report.damaged, "line"), plural(report.newer, "line")));
  }
  context.console().document_text(to_json(report));
  return report.damaged + report.newer > 0 ? ExitStatus::negative : ExitStatus::done;
}

Result<ExitStatus> explain(const Context& context, const ExplainOptions& options) {
  if (!options.since.empty()) return explain_journal(context, options);
  if (options.subject.empty() || options.device.empty())
    return context.fail(Error{ErrorCode::invalid_argument, "a kernel and --device are needed",
                              "name both, or list what was compiled with --since"});
  CUBINET_TRY_ASSIGN(const ComputeCapability device, ComputeCapability::parse_known(options.device));
  CUBINET_TRY_ASSIGN(const TargetPolicy policy, parse_target_policy(options.targets));
  CUBINET_TRY_ASSIGN(TemplateCatalog catalog, context.catalog(options.sources.template_files));
  CUBINET_TRY_ASSIGN(auto stores, context.stores(options.places, HomeOptions::Access::read_only));
  CUBINET_TRY_ASSIGN(CompileOptions compiling, compile_options(options.sources));
  CUBINET_TRY_ASSIGN(const auto runtime, context.runtime_to_ask(std::move(stores), std::move(catalog), policy,
                                                                std::move(compiling)));
  const auto kernel = resolve_kernel(*runtime, options.subject, options.parameters);
  if (!kernel) {
    const bool lies_nowhere = kernel.error().code == ErrorCode::not_found;
    return context.fail(kernel.error(), lies_nowhere ? ExitStatus::negative : ExitStatus::usage);
  }
  CUBINET_TRY_ASSIGN(const KernelExplanation explanation, runtime->explain(**kernel, device));
  const std::string fix = fix_of(context, options, explanation);
  nlohmann::json document = describe(explanation, fix);
  const bool answered = explanation.choice() != nullptr || explanation.would_compile;
  if (!answered) {
    document.update(error_document(
        Error{explanation.cannot_compile ? explanation.cannot_compile->code : ErrorCode::not_found,
              reason_of(explanation), fix}));
  }
  std::string text = to_text(explanation, fix);
  document["bundles"] = nlohmann::json::array();
  for (const auto& store : runtime->stores()) {
    const auto trust = trust_of(store);
    if (!trust) continue;
    const std::string& place = store->description().place;
    text += fmt::format("\n{}: {}", printable(place), to_text(*trust));
    document["bundles"].push_back(
        {{"bundle", place}, {"trust", describe(*trust)}, {"fetched_bytes", store->fetched_bytes()}});
  }
  document["caches"] = nlohmann::json::array();
  for (const auto& cache : runtime->caches()) {
    const std::string& place = cache->place();
    const ExplainedBuild* choice = explanation.choice();
    const bool found = choice != nullptr && choice->place == place;
    // The cache is queried only if no store has a build, and only for the build that the compiler
    // here would make.
    const bool asked = found || (choice == nullptr && explanation.would_compile);
    text += fmt::format("\ncache {}: {}", printable(place),
                        found   ? "it has the build"
                        : asked ? "it has no such build, or did not answer"
                                : "not asked");
    document["caches"].push_back({{"cache", place}, {"asked", asked}, {"found", found}});
  }
  context.console().text(text);
  context.console().document(document);
  return answered ? ExitStatus::done : ExitStatus::negative;
}

}  // namespace

void add_explain(CLI::App& root, Action& chosen) {
  CLI::App* verb = root.add_subcommand(
      "explain",
      "Say which build of a kernel a device would get, and why, or what was compiled for requests");
  auto options = std::make_shared<ExplainOptions>();
  verb->add_option(
          "KERNEL", options->subject,
          "A template (with -p), a key, or the name of a function, with @ and the beginning of a pin; with "
          "--since a key or a part of the kernel")
      ->type_name("");
  add_parameters(*verb, options->parameters);
  add_template_sources(*verb, options->sources);
  add_text(*verb, "--device", options->device, "DEVICE", "sm_90 or 9.0");
  CLI::Option* since = add_text(
      *verb, "--since", options->since, "TIME",
      "List what processes compiled for requests since then, and why: 3h, 7d or 2026-11-27T03:00 (UTC); "
      "without the other options of the verb");
  add_places(*verb, options->places);
  add_cache(*verb, options->places);
  add_target_options(*verb, options->targets);
  // CLI11's own exclusions are listed in the help, in the order of their addresses.
  std::vector<const CLI::Option*> others;
  for (const CLI::Option* option : verb->get_options()) {
    if (option != since && option != verb->get_help_ptr() && option->nonpositional())
      others.push_back(option);
  }
  verb->parse_complete_callback([since, others] {
    for (const CLI::Option* other : others)
      if (since->count() > 0 && other->count() > 0)
        throw CLI::ExcludesError(since->get_name(), other->get_name());
  });
  verb->footer(
      R"(Needs no GPU and compiles nothing. Status 1 when no build may be used and none could be made, and
when a part of the journal cannot be read.

Examples:
  cubinet explain rms_norm -p hidden_size=4096 --device sm_90
  cubinet explain 0123456789abcdef --device 10.3 --prefer family
  cubinet explain attention_decode -p head_dim_qk=128 -p head_dim_v=128 --device 9.0 --forbid sm_90a --json
  cubinet explain rms_norm -p hidden_size=4096 --device sm_90 --cache https://cache.example/kernels
  cubinet explain --since 3h
  cubinet explain attention_decode --since 2026-11-27T03:00 --json)");
  choose<ExplainOptions>(*verb, chosen, options, explain);
}

}  // namespace cubinet::cli
