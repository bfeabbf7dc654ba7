// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "describe.hpp"
#include "kernel_arguments.hpp"
#include "registry_retention.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/cubin_registry/imports.hpp>
#include <cubinet/session/compilation.hpp>
#include <cubinet/session/judged_build.hpp>

#include <fmt/format.h>

#include <optional>

namespace cubinet::cli {
namespace {

struct GcOptions {
  bool stale = false;
  bool dry_run = false;
  bool imports = false;
  std::string max_bytes;
  std::string low;
  TemplateSources sources;
};

struct StaleTally {
  std::uint64_t removed = 0;
  std::uint64_t unknown = 0;
  nlohmann::json entries = nlohmann::json::array();
};

// Removes the builds that no request of a Runtime with these templates and this compiler would use.
// Imports are not judged; they are removed as a whole.
Result<StaleTally> remove_stale(const Context& context, const GcOptions& options,
                                const std::shared_ptr<Home>& home) {
  CUBINET_TRY_ASSIGN(TemplateCatalog catalog, context.catalog(options.sources.template_files));
  CUBINET_TRY_ASSIGN(CompileOptions compiling, compile_options(options.sources));
  CUBINET_TRY_ASSIGN(const auto runtime, context.runtime_to_ask({.stores = {home}}, std::move(catalog), {},
                                                                std::move(compiling)));
  CUBINET_TRY(runtime->compiler());
  CUBINET_TRY_ASSIGN(const auto records, home->list());
  StaleTally tally;
  CubinRecords stale;
  for (const auto& record : records) {
    if (!can_be_stale(*record)) continue;
    const auto judged = runtime->build_status(record);
    const std::string subject = fmt::format("{} {} for {}", record->identity.key().to_string(),
                                            kernel_title(*record), record->target_name());
    if (!judged || judged->status == BuildStatus::unchecked) {
      ++tally.unknown;
      context.console().message(
          LogLevel::info,
          fmt::format("kept: {}: {}", subject, judged ? judged->verdict : judged.error().message));
    }
    if (!judged || is_usable(judged->status)) continue;
    stale.push_back(record);
    context.console().text(fmt::format("stale: {}: {}", subject, printable(judged->verdict)));
    nlohmann::json entry = describe(*record);
    entry["reason"] = judged->verdict;
    tally.entries.push_back(std::move(entry));
  }
  tally.removed = stale.size();
  if (!options.dry_run) CUBINET_TRY(home->remove(stale));
  return tally;
}

// Returns the limit of the options; nullopt: the home's own limit applies, if there is one.
Result<std::optional<SizeLimit>> limit_of(const GcOptions& options) {
  if (options.max_bytes.empty() && options.low.empty()) return std::optional<SizeLimit>();
  if (options.max_bytes.empty()) {
    return Error{ErrorCode::invalid_argument, "--low is said beside --max-bytes alone", "name both"};
  }
  CUBINET_TRY_ASSIGN(const SizeLimit limit, parse_limit(options.max_bytes, options.low));
  return std::optional(limit);
}

struct Evicted {
  nlohmann::json entries = nlohmann::json::array();
  std::vector<std::string> lines;
};

Evicted describe_evicted(const SweepReport& report, const HomeStats& before) {
  Evicted evicted;
  for (const auto& record : report.evicted) {
    const auto use = before.last_used.find(record->digest);
    const std::string reason = use == before.last_used.end()
                                   ? "never used"
                                   : "last used " + format_age(use->second, seconds_since_1970());
    evicted.lines.push_back(fmt::format("evicted: {} {} for {}: {}, {}", record->identity.key().to_string(),
                                        kernel_title(*record), record->target_name(),
                                        format_bytes(record->size), reason));
    nlohmann::json entry = describe(*record);
    entry["reason"] = reason;
    evicted.entries.push_back(std::move(entry));
  }
  for (const std::uint64_t number : report.evicted_imports)
    evicted.lines.push_back(fmt::format("evicted: import {}", number));
  return evicted;
}

std::string sweep_summary(const std::string& home, const StaleTally& tally, const SweepReport& swept,
                          const std::optional<SizeLimit>& limit, bool dry_run) {
  std::string text = fmt::format(
      "{}: {} stale, {} without an image, {} of {} that nothing uses, {} of {} for the limit: {}",
      printable(home), plural(tally.removed, "entry"), plural(swept.entries, "entry"),
      plural(swept.files, "file"), format_bytes(swept.bytes),
      plural(swept.evicted.size() + swept.evicted_imports.size(), "entry"), format_bytes(swept.evicted_bytes),
      dry_run ? "would be removed; nothing was changed" : "removed");
  if (limit) {
    text += fmt::format("\n{} stay, of which {} are pinned and {} were published or used within two hours",
                        format_bytes(swept.kept_bytes), format_bytes(swept.pinned_bytes),
                        format_bytes(swept.recent_bytes));
  }
  return text;
}

Result<ExitStatus> gc(const Context& context, const GcOptions& options) {
  CUBINET_TRY_ASSIGN(const auto limit, limit_of(options));
  const auto access = options.dry_run ? HomeOptions::Access::read_only : HomeOptions::Access::read_write;
  CUBINET_TRY_ASSIGN(const auto registry, context.open_registry(access));
  StaleTally tally;
  if (options.stale) {
    CUBINET_TRY_ASSIGN(tally, remove_stale(context, options, registry));
  }
  CUBINET_TRY_ASSIGN(const HomeStats before, registry->stats());
  CUBINET_TRY_ASSIGN(const SweepReport swept, registry->sweep({options.dry_run, limit, options.imports}));
  CUBINET_TRY_ASSIGN(const SweptHeaders headers, sweep_headers(context.session_options(), !options.dry_run));
  if (headers.releases > 0) {
    context.console().text(fmt::format("headers of {} not found here: {}, {}",
                                       plural(headers.releases, "NVRTC release"), format_bytes(headers.bytes),
                                       options.dry_run ? "would be removed" : "removed"));
  }
  Evicted evicted = describe_evicted(swept, before);
  for (const std::string& line : evicted.lines)
    context.console().text(line);
  const auto in_force = limit ? limit : before.limit;
  context.console().text(
      sweep_summary(registry->description().place, tally, swept, in_force, options.dry_run));
  if (in_force && swept.kept_bytes > in_force->high) {
    context.console().message(LogLevel::warning,
                              fmt::format("more than {} stay: what is pinned or recent is never evicted",
                                          format_bytes(in_force->high)));
  }
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
                              {"swept_bytes", swept.bytes},
                              {"header_folders", headers.releases},
                              {"header_bytes", headers.bytes},
                              {"evicted", std::move(evicted.entries)},
                              {"evicted_imports", swept.evicted_imports},
                              {"evicted_bytes", swept.evicted_bytes},
                              {"kept_bytes", swept.kept_bytes},
                              {"pinned_bytes", swept.pinned_bytes},
                              {"recent_bytes", swept.recent_bytes},
                              {"limit", describe(in_force)}});
  return ExitStatus::done;
}

}  // namespace

void add_registry_gc(CLI::App& registry, Action& chosen) {
  CLI::App* verb = registry.add_subcommand("gc", "Remove what nothing uses any more, and make room");
  auto options = std::make_shared<GcOptions>();
  verb->add_flag(
      "--stale", options->stale,
      "Entries that a compilation here and now would not produce, too; those of other compilers included");
  add_text(
      *verb, "--max-bytes", options->max_bytes, "SIZE",
      "Where the images are more than this, what was not used for longest goes: 2G; without it the home's "
      "limit holds");
  add_text(*verb, "--low", options->low, "SIZE", "Until no more than this is left; 0.8 of --max-bytes");
  verb->add_flag("--imports", options->imports, "Imported folders count and may go too, each in whole");
  verb->add_flag("--dry-run", options->dry_run, "Say what would be removed and why, change nothing");
  add_template_sources(*verb, options->sources);
  verb->footer(
      R"(Removes left-over temporary files, images without an entry, entries without an image, and headers
that were within an NVRTC that is not found any more.
What is pinned, and what was published or used within two hours, is never evicted.

Examples:
  cubinet registry gc
  cubinet registry gc --max-bytes 2G --dry-run
  cubinet registry gc --stale --dry-run)");
  choose<GcOptions>(*verb, chosen, options, gc);
}

}  // namespace cubinet::cli
