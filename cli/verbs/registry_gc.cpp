// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "describe.hpp"
#include "kernel_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/cubin_registry/imports.hpp>
#include <cubinet/jit/compiler.hpp>

#include <fmt/format.h>

#include <map>

namespace cubinet::cli {
namespace {

struct PruneOptions {
  bool stale = false;
  bool dry_run = false;
  TemplateSources sources;
};

struct PruneTally {
  std::uint64_t removed = 0;
  std::uint64_t unknown = 0;
  nlohmann::json entries = nlohmann::json::array();
};

// What no request of a Runtime with these templates and this compiler would take. Imports are removed whole.
Result<PruneTally> prune_stale(const Context& context, const PruneOptions& options,
                               const std::shared_ptr<Home>& home) {
  CUBINET_TRY_ASSIGN(TemplateCatalog catalog, context.catalog(options.sources.template_files));
  CUBINET_TRY_ASSIGN(CompileOptions compiling, compile_options(options.sources));
  CUBINET_TRY_ASSIGN(const auto runtime,
                     context.runtime_to_ask({home}, std::move(catalog), {}, std::move(compiling)));
  CUBINET_TRY(runtime->compiler());
  CUBINET_TRY_ASSIGN(const auto records, home->list());
  PruneTally tally;
  CubinRecords stale;
  for (const auto& record : records) {
    // Nothing would be built in the place of what somebody brought.
    const bool is_brought = record->identity.kernel().maker() == KernelMaker::function;
    if (is_brought || record->origin == CubinOrigin::imported) continue;
    const auto judged = runtime->standing(*record);
    const std::string subject = fmt::format("{} {} for {}", record->identity.key().to_string(),
                                            spec_of(*record).to_string(), record->target_name());
    if (!judged || judged->standing == Standing::unchecked) {
      ++tally.unknown;
      context.console().message(
          LogLevel::info,
          fmt::format("kept: {}: {}", subject, judged ? judged->reason : judged.error().message));
    }
    if (!judged || is_usable(judged->standing)) continue;
    stale.push_back(record);
    context.console().text(fmt::format("stale: {}: {}", subject, printable(judged->reason)));
    nlohmann::json entry = describe(*record);
    entry["reason"] = judged->reason;
    tally.entries.push_back(std::move(entry));
  }
  tally.removed = stale.size();
  if (!options.dry_run) CUBINET_TRY(home->remove(stale));
  return tally;
}

Result<ExitStatus> prune(const Context& context, const PruneOptions& options) {
  const auto access = options.dry_run ? HomeOptions::Access::read_only : HomeOptions::Access::read_write;
  CUBINET_TRY_ASSIGN(const auto registry, context.open_registry(access));
  PruneTally tally;
  if (options.stale) {
    CUBINET_TRY_ASSIGN(tally, prune_stale(context, options, registry));
  }
  CUBINET_TRY_ASSIGN(const SweepReport swept,
                     registry->sweep(options.dry_run ? SweepMode::count : SweepMode::remove));
  context.console().text(fmt::format("{}: {} stale, {} without an image, {} of {} that nothing uses: {}",
                                     printable(registry->description().place), plural(tally.removed, "entry"),
                                     plural(swept.entries, "entry"), plural(swept.files, "file"),
                                     format_bytes(swept.bytes),
                                     options.dry_run ? "would be removed; nothing was changed" : "removed"));
  if (tally.unknown > 0) {
    context.console().message(
        LogLevel::warning,
        fmt::format("{} kept whose template is not known here; name it with --template-file",
                    plural(tally.unknown, "entry")));
  }
  context.console().document({{"home", registry->description().place},
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
