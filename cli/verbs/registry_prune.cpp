// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "describe.hpp"
#include "kernel_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>

#include <fmt/format.h>

#include <map>

namespace cubinet::cli {
namespace {

struct PruneOptions {
  bool stale = false;
  bool dry_run = false;
  TemplateSources sources;
};

enum class Currency { current, stale, unknown };

struct Judgement {
  Currency currency = Currency::current;
  std::string reason;
};

// Whether a Runtime with these templates and this compiler would still use the entry.
class StaleRule {
 public:
  StaleRule(const TemplateCatalog& catalog, Compiler& compiler, CompileOptions options)
      : catalog_(catalog), compiler_(compiler), options_(std::move(options)) {}

  Judgement judge(const CubinRecord& record) const {
    const auto decoded = decode_identity(record.identity.encoding());
    if (!decoded) return {Currency::unknown, decoded.error().message};
    const auto kernel_template = catalog_.find(decoded->spec.name);
    // It may be a template of the user's that was not named with --template-file.
    if (!kernel_template) return {Currency::unknown, kernel_template.error().message};
    if (record.interface_version != (*kernel_template)->interface_version()) {
      return {Currency::stale,
              fmt::format("built for interface version {}, the template has {}", record.interface_version,
                          (*kernel_template)->interface_version())};
    }
    if (record.origin == CubinOrigin::bundle) return {};
    const auto resolved = (*kernel_template)->resolve(decoded->spec);
    if (!resolved) return {Currency::stale, resolved.error().message};
    if (*resolved != decoded->spec) return {Currency::stale, "the template has other parameters now"};
    CompileRequest request;
    request.kernel_template = *kernel_template;
    request.spec = *resolved;
    request.target = record.target;
    request.kind = record.kind;
    request.options = options_;
    const auto fingerprint = compiler_.fingerprint(request);
    if (!fingerprint) return {Currency::unknown, fingerprint.error().message};
    if (*fingerprint == record.fingerprint) return {};
    return {Currency::stale, "a compilation today would have another fingerprint"};
  }

 private:
  const TemplateCatalog& catalog_;
  Compiler& compiler_;
  CompileOptions options_;
};

struct PruneTally {
  std::uint64_t removed = 0;
  std::uint64_t unknown = 0;
  nlohmann::json entries = nlohmann::json::array();
};

Result<PruneTally> prune_stale(const Context& context, const PruneOptions& options, Registry& registry) {
  CUBINET_TRY_ASSIGN(const TemplateCatalog catalog, context.catalog(options.sources.template_files));
  CUBINET_TRY_ASSIGN(const auto compiler, Compiler::open(context.compiler_search()));
  const StaleRule rule(catalog, *compiler, compile_options(options.sources));
  CUBINET_TRY_ASSIGN(const auto records, registry.list());
  PruneTally tally;
  std::vector<std::shared_ptr<const CubinRecord>> stale;
  for (const auto& record : records) {
    const Judgement judgement = rule.judge(*record);
    const std::string subject = fmt::format("{} {} for {}", record->identity.key().to_string(),
                                            spec_of(*record).to_string(), record->target_name());
    if (judgement.currency == Currency::unknown) {
      ++tally.unknown;
      context.console().message(LogLevel::info, fmt::format("kept: {}: {}", subject, judgement.reason));
    }
    if (judgement.currency != Currency::stale) continue;
    stale.push_back(record);
    context.console().text(fmt::format("stale: {}: {}", subject, printable(judgement.reason)));
    nlohmann::json entry = describe(*record);
    entry["reason"] = judgement.reason;
    tally.entries.push_back(std::move(entry));
  }
  tally.removed = stale.size();
  if (!options.dry_run) CUBINET_TRY(registry.remove(stale));
  return tally;
}

Result<ExitStatus> prune(const Context& context, const PruneOptions& options) {
  const auto access =
      options.dry_run ? RegistryOptions::Access::read_only : RegistryOptions::Access::read_write;
  CUBINET_TRY_ASSIGN(const auto registry, context.open_registry(access));
  PruneTally tally;
  if (options.stale) {
    CUBINET_TRY_ASSIGN(tally, prune_stale(context, options, *registry));
  }
  CUBINET_TRY_ASSIGN(const SweepReport swept,
                     registry->sweep(options.dry_run ? SweepMode::count : SweepMode::remove));
  context.console().text(fmt::format("{}: {} stale, {} without an image, {} of {} that nothing uses: {}",
                                     printable(registry->home().string()), plural(tally.removed, "entry"),
                                     plural(swept.entries, "entry"), plural(swept.files, "file"),
                                     format_bytes(swept.bytes),
                                     options.dry_run ? "would be removed; nothing was changed" : "removed"));
  if (tally.unknown > 0) {
    context.console().message(
        LogLevel::warning,
        fmt::format("{} kept whose template is not known here; name it with --template-file",
                    plural(tally.unknown, "entry")));
  }
  context.console().document({{"home", registry->home().string()},
                              {"dry_run", options.dry_run},
                              {"stale", std::move(tally.entries)},
                              {"unknown", tally.unknown},
                              {"entries_without_image", swept.entries},
                              {"swept_files", swept.files},
                              {"swept_bytes", swept.bytes}});
  return ExitStatus::done;
}

}  // namespace

void add_registry_prune(CLI::App& registry, Action& chosen) {
  CLI::App* verb = registry.add_subcommand("prune", "Remove what nothing uses any more");
  auto options = std::make_shared<PruneOptions>();
  verb->add_flag(
      "--stale", options->stale,
      "Entries that a compilation here and now would not produce, too; those of other compilers included");
  verb->add_flag("--dry-run", options->dry_run, "Say what would be removed, change nothing");
  add_template_sources(*verb, options->sources);
  verb->footer(R"(Removes left-over temporary files, images without an entry and entries without an image.

Examples:
  cubinet registry prune
  cubinet registry prune --stale --dry-run)");
  choose<PruneOptions>(*verb, chosen, options, prune);
}

}  // namespace cubinet::cli
