// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "describe.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/kernel_table/kernel_index.hpp>
#include <cubinet/usable_rows.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

struct StatsOptions {
  std::string device;
};

// What a device can use of the home's attention rows.
struct DeviceUsage {
  ComputeCapability device;
  std::size_t rows = 0;       // that may be used
  std::size_t conflicts = 0;  // rows that no rule decides between, or that gave way
  KernelIndex::Usage usage;
};

Result<DeviceUsage> usage_of(const Context& context, Registry& registry, ComputeCapability device) {
  CUBINET_TRY_ASSIGN(const TemplateCatalog templates, context.catalog({}));
  const auto compiler = Compiler::open(context.compiler_search());
  CUBINET_TRY_ASSIGN(UsableRows usable,
                     usable_rows(registry, templates, compiler ? compiler->get() : nullptr));
  DeviceUsage result;
  result.device = device;
  result.rows = usable.rows.size();
  for (const RowConflict& conflict : usable.conflicts)
    result.conflicts += conflict.refused.size();
  const auto kept = std::make_shared<const std::vector<KernelRow>>(std::move(usable.rows));
  result.usage = KernelIndex::build(kept, device).usage();
  return result;
}

nlohmann::json describe_usage(const DeviceUsage& found) {
  const KernelIndex::Usage& usage = found.usage;
  return {
      {"device", found.device.to_string()},
      {"rows", found.rows},
      {"usable", usage.usable},
      {"by_target", {{"specific", usage.specific}, {"family", usage.family}, {"baseline", usage.baseline}}},
      {"other_targets", usage.other_targets},
      {"not_understood", usage.not_understood},
      {"unknown_columns", usage.unknown_columns},
      {"conflicts", found.conflicts},
  };
}

Result<ExitStatus> stats(const Context& context, const StatsOptions& options) {
  std::optional<ComputeCapability> device;
  if (!options.device.empty()) {
    CUBINET_TRY_ASSIGN(device, ComputeCapability::parse(options.device));
  }
  CUBINET_TRY_ASSIGN(const auto registry, context.open_registry(RegistryOptions::Access::read_only));
  CUBINET_TRY_ASSIGN(const RegistryStats stats, registry->stats());
  std::string text = fmt::format(
      "home         {}\nentries      {}\ncubins       {}\nsize         {}\nquarantined  {}\n"
      "index        SQLite {}, journal mode {}",
      printable(registry->home().string()), stats.entries, stats.cubins, format_bytes(stats.cubin_bytes),
      stats.quarantined, stats.sqlite_version, stats.journal_mode);
  nlohmann::json document = {{"home", registry->home().string()},
                             {"entries", stats.entries},
                             {"cubins", stats.cubins},
                             {"bytes", stats.cubin_bytes},
                             {"quarantined", stats.quarantined},
                             {"sqlite_version", stats.sqlite_version},
                             {"journal_mode", stats.journal_mode}};
  if (device) {
    CUBINET_TRY_ASSIGN(const DeviceUsage found, usage_of(context, *registry, *device));
    const KernelIndex::Usage& usage = found.usage;
    text += fmt::format(
        "\nrows         {}\ndevice       {}: {} usable, {} specific, {} by family, {} baseline; {} rows for "
        "other devices",
        found.rows, device->to_string(), usage.usable, usage.specific, usage.family, usage.baseline,
        usage.other_targets);
    if (found.conflicts > 0) text += fmt::format("; {} refused by a conflict", found.conflicts);
    if (usage.not_understood > 0) text += "; " + usage.passed_over();
    document.update(describe_usage(found));
  }
  context.console().text(text);
  context.console().document(document);
  return ExitStatus::done;
}

}  // namespace

void add_registry_stats(CLI::App& registry, Action& chosen) {
  CLI::App* verb =
      registry.add_subcommand("stats", "Count entries and bytes, and the attention rows a device can use");
  auto options = std::make_shared<StatsOptions>();
  add_text(*verb, "--device", options->device, "DEVICE", "A device: sm_103 or 10.3");
  verb->footer(
      "Example:\n  cubinet registry stats\n  cubinet registry stats --device sm_103 --json\n"
      "  cubinet registry stats --home /var/cache/cubinet --json");
  choose<StatsOptions>(*verb, chosen, options, stats);
}

}  // namespace cubinet::cli
