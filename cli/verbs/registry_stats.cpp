// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "describe.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/cubin_registry/imports.hpp>
#include <cubinet/session/device_usage.hpp>
#include <cubinet/session/home_usage.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

struct StatsOptions {
  std::string device;
  bool hits = false;
};

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
    CUBINET_TRY_ASSIGN(const DeviceUsage counted,
                       DeviceUsage::of(context.session_options(), registry, *device));
    text += to_text(counted);
    document.update(describe(counted));
  }
  if (options.hits) {
    HomeUsage usage;
    if (registry != nullptr) {
      CUBINET_TRY_ASSIGN(usage, HomeUsage::of(*registry));
    }
    text += to_text(usage, context.verbose(), seconds_since_1970());
    document["hits"] = describe(usage);
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
