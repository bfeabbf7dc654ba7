// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "describe.hpp"
#include "registry_hits.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/cubin_registry/imports.hpp>
#include <cubinet/kernel_table/kernel_index.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

struct StatsOptions {
  std::string device;
  bool hits = false;
};

// The attention kernels of the home that a device can use. These are the rows that requests and
// `select` use.
struct DeviceUsage {
  DeviceRows found;
  KernelIndex::Usage usage;
};

Result<DeviceUsage> usage_of(const Context& context, std::shared_ptr<Store> home, ComputeCapability device) {
  CUBINET_TRY_ASSIGN(TemplateCatalog templates, context.catalog({}));
  OpenedStores opened;
  if (home != nullptr) opened.stores.push_back(std::move(home));
  CUBINET_TRY_ASSIGN(const auto runtime, context.runtime_to_ask(std::move(opened), std::move(templates)));
  DeviceUsage result;
  CUBINET_TRY_ASSIGN(result.found, runtime->rows(device));
  KernelRows rows;
  rows.reserve(result.found.rows.size());
  for (const StoredRow& stored : result.found.rows)
    rows.push_back(stored.row);
  result.usage = KernelIndex::build(std::move(rows), device).usage();
  return result;
}

nlohmann::json describe_usage(const DeviceUsage& device) {
  const KernelIndex::Usage& usage = device.usage;
  return {
      {"rows", device.found.rows.size()},
      {"usable", usage.usable},
      {"by_target", {{"specific", usage.specific}, {"family", usage.family}, {"baseline", usage.baseline}}},
      {"other_targets", device.found.elsewhere.size()},
      {"stale", device.found.stale},
      {"foreign", device.found.foreign},
      {"not_understood", usage.not_understood},
      {"unknown_columns", usage.unknown_columns},
  };
}

std::string usage_text(const DeviceUsage& counted, ComputeCapability device) {
  const KernelIndex::Usage& usage = counted.usage;
  const DeviceRows& found = counted.found;
  std::string text = fmt::format(
      "\nrows         {}\ndevice       {}: {} usable, {} specific, {} by family, {} baseline; {} for "
      "other devices",
      found.rows.size(), device.to_string(), usage.usable, usage.specific, usage.family, usage.baseline,
      plural(found.elsewhere.size(), "kernel"));
  if (found.stale + found.foreign > 0)
    text += fmt::format("; {} stale, {} of another interface version", found.stale, found.foreign);
  if (usage.not_understood > 0) text += "; " + usage.passed_over();
  return text;
}

Result<ExitStatus> stats(const Context& context, const StatsOptions& options) {
  std::optional<ComputeCapability> device;
  if (!options.device.empty()) {
    CUBINET_TRY_ASSIGN(device, ComputeCapability::parse_known(options.device));
  }
  CUBINET_TRY_ASSIGN(const auto registry, context.open_existing_registry());
  CUBINET_TRY_ASSIGN(const std::string place, context.place_of(registry.get()));
  HomeStats stats;
  std::vector<ImportSummary> imports;
  if (registry != nullptr) {
    CUBINET_TRY_ASSIGN(stats, registry->stats());
    CUBINET_TRY_ASSIGN(imports, registry->imports().list());
  } else {
    stats.journal_mode = "none, the home does not exist yet";
  }
  std::uint64_t kernels = 0;
  std::size_t gone = 0;
  for (const ImportSummary& import : imports) {
    kernels += import.rows + import.plain;
    gone += import.gone ? 1 : 0;
  }
  std::string text = fmt::format(
      "home         {}\nentries      {}\ncubins       {}\nsize         {}\nquarantined  {}\n"
      "imports      {}, {} of their kernels{}\n"
      "index        {}",
      printable(place), stats.entries, stats.cubins, format_bytes(stats.cubin_bytes), stats.quarantined,
      imports.size(), kernels, gone > 0 ? fmt::format("; of {} the folder is gone", gone) : "",
      registry == nullptr
          ? stats.journal_mode
          : fmt::format("SQLite {}, journal mode {}", stats.sqlite_version, stats.journal_mode));
  nlohmann::json document = {{"home", place},
                             {"entries", stats.entries},
                             {"cubins", stats.cubins},
                             {"bytes", stats.cubin_bytes},
                             {"quarantined", stats.quarantined},
                             {"imports", imports.size()},
                             {"imported_kernels", kernels},
                             {"imports_gone", gone},
                             {"sqlite_version", stats.sqlite_version},
                             {"journal_mode", stats.journal_mode}};
  if (device) {
    CUBINET_TRY_ASSIGN(const DeviceUsage counted, usage_of(context, registry, *device));
    text += usage_text(counted, *device);
    document["device"] = device->to_string();
    document.update(describe_usage(counted));
  }
  if (options.hits) {
    CUBINET_TRY_ASSIGN(Hits hits, hits_of(context, registry.get(), stats));
    text += hits.text;
    document["hits"] = std::move(hits.described);
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
  verb->add_flag("--hits", options->hits, "Look-ups, builds found and used, and builds that were never used");
  add_text(*verb, "--device", options->device, "DEVICE", "A device: sm_103 or 10.3");
  verb->footer(
      "Example:\n  cubinet registry stats --hits\n  cubinet registry stats --device sm_103 --json\n"
      "  cubinet registry stats --home /var/cache/cubinet --json");
  choose<StatsOptions>(*verb, chosen, options, stats);
}

}  // namespace cubinet::cli
