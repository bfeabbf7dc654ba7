// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/file_system.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/base/units.hpp>
#include <cubinet/report/kernel_list.hpp>
#include <cubinet/report/store_sections.hpp>
#include <cubinet/session/home_usage.hpp>
#include <cubinet/session/open_stores.hpp>
#include <cubinet/session/template_files.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cubinet {
namespace {

struct HomeCounts {
  std::size_t outdated = 0;
  std::size_t unchecked = 0;
  std::uint64_t outdated_bytes = 0;
  std::uint64_t never_used_bytes = 0;
};

std::vector<ListedKernel> listed_builds(Runtime& runtime, const HomeUsage& usage) {
  std::vector<ListedKernel> kernels;
  for (const auto& record : usage.builds) {
    ListedKernel kernel{judged_build(runtime, record)};
    const auto used = usage.stats.last_used.find(record->digest);
    if (used != usage.stats.last_used.end()) kernel.last_used = used->second;
    kernel.pinned =
        std::binary_search(usage.stats.pins.begin(), usage.stats.pins.end(), record->identity.key());
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

HomeCounts counts_of(const std::vector<ListedKernel>& kernels, const HomeUsage& usage) {
  HomeCounts counts;
  for (const ListedKernel& kernel : kernels) {
    if (kernel.judged.outdated()) {
      ++counts.outdated;
      counts.outdated_bytes += kernel.judged.record->size;
    }
    if (kernel.judged.status == BuildStatus::unchecked) ++counts.unchecked;
  }
  for (const auto& record : usage.never_used)
    counts.never_used_bytes += record->size;
  return counts;
}

Fact size_fact(const HomeStats& stats) {
  Fact fact{"Size", format_bytes(stats.cubin_bytes), plural(stats.cubins, "image")};
  if (!stats.limit) return fact;
  const double share = static_cast<double>(stats.cubin_bytes) /
                       static_cast<double>(std::max<std::uint64_t>(stats.limit->high, 1));
  fact.note = fmt::format("{} of the limit of {}", format_percent(share), format_bytes(stats.limit->high));
  if (share > 0.9) fact.tone = Tone::warning;
  return fact;
}

Html tiles_of(const HomeUsage& usage, const HomeCounts& counts) {
  const HomeStats& stats = usage.stats;
  const std::size_t builds = usage.builds.size();
  std::vector<Fact> facts = {{"Builds", format_count(builds), plural(stats.pins.size(), "pinned key")},
                             size_fact(stats)};
  Fact stale{
      "Stale or foreign", format_count(counts.outdated),
      counts.outdated > 0 ? format_bytes(counts.outdated_bytes) + " that no request uses" : "all can be used",
      counts.outdated > 0 ? Tone::bad : Tone::good};
  if (counts.unchecked > 0) {
    stale.note += fmt::format("; {} not checked", counts.unchecked);
    if (counts.outdated == 0) stale.tone = Tone::warning;
  }
  facts.push_back(std::move(stale));
  facts.push_back({"Never used", format_count(usage.never_used.size()), format_bytes(counts.never_used_bytes),
                   usage.never_used.empty() ? Tone::good : Tone::warning});
  facts.push_back({"Look-ups", format_count(stats.uses.asked),
                   fmt::format("{} found, {} used", stats.uses.found, plural(stats.uses.used, "image"))});
  if (!usage.imports.empty()) {
    std::uint64_t kernels = 0;
    for (const ImportUsage& each : usage.imports)
      kernels += each.import.rows + each.import.plain;
    facts.push_back({"Imports", format_count(usage.imports.size()), plural(kernels, "published kernel")});
  }
  if (stats.quarantined > 0)
    facts.push_back({"Quarantined", format_count(stats.quarantined), "damaged files", Tone::bad});
  return fact_tiles(facts);
}

Html notices_of(const HomeUsage& usage, const HomeCounts& counts) {
  Html notices;
  if (counts.outdated > 0) {
    notices +=
        notice(Tone::bad, fmt::format("{} would be compiled again at the next request: the compiler, a "
                                      "header or the template has changed.",
                                      plural(counts.outdated, "build")));
  }
  if (counts.unchecked > 0) {
    notices +=
        notice(Tone::warning, fmt::format("{} could not be compared with the current build: no compiler, or "
                                          "no template of that name, is known here.",
                                          plural(counts.unchecked, "build")));
  }
  if (!usage.noted)
    notices += notice(Tone::plain, "This user cannot write the home, so what this user uses is not noted.");
  return notices;
}

Html imports_of(const HomeUsage& usage, std::int64_t now) {
  if (usage.imports.empty()) return {};
  DataTable table("Imported folders", {{"Folder"},
                                       {"Version"},
                                       {"Kernels", true},
                                       {"Cubins", true},
                                       {"Size", true},
                                       {"Used", true},
                                       {"Last used", true},
                                       {"Kept"}});
  for (const ImportUsage& each : usage.imports) {
    const ImportSummary& import = each.import;
    const std::uint64_t kernels = import.rows + import.plain;
    table.add(
        {name_html(import.folder),
         shown_name(import.version.empty() ? "not known" : import.version),
         {format_count(kernels), static_cast<double>(kernels)},
         {format_count(import.files), static_cast<double>(import.files)},
         {format_bytes(import.bytes), static_cast<double>(import.bytes)},
         {format_count(each.used), static_cast<double>(each.used)},
         {each.used == 0 ? "never" : format_age(each.last_used, now), static_cast<double>(each.last_used)},
         import.gone ? badge(Tone::bad, "folder is gone") : Html(to_string(import.placement))});
  }
  return table.html();
}

Html channels_of(const HomeUsage& usage, std::int64_t now) {
  if (usage.channels.empty()) return {};
  DataTable table("Channels of servers", {{"Channel"},
                                          {"Last answer", true},
                                          {"Look-ups", true},
                                          {"Found", true},
                                          {"Used", true},
                                          {"Fetched", true},
                                          {"Manifest"}});
  for (const KnownChannel& channel : usage.channels) {
    const StoreUses& uses = channel.uses;
    Html manifest = channel.pinned ? badge(Tone::plain, "pinned") : Html();
    const auto& named = channel.pinned ? channel.pinned : channel.manifest;
    manifest += named ? element("code", named->to_hex()) : Html("none");
    table.add(
        {name_html(channel.place),
         {channel.asked == 0 ? "never" : format_age(channel.asked, now), static_cast<double>(channel.asked)},
         {format_count(uses.asked), static_cast<double>(uses.asked)},
         {format_count(uses.found), static_cast<double>(uses.found)},
         {format_count(uses.used), static_cast<double>(uses.used)},
         {format_bytes(uses.bytes), static_cast<double>(uses.bytes)},
         manifest});
  }
  return table.html();
}

}  // namespace

Result<std::shared_ptr<Runtime>> runtime_over(const SessionOptions& session,
                                              std::vector<std::shared_ptr<Store>> stores) {
  CUBINET_TRY_ASSIGN(TemplateCatalog templates,
                     load_catalog(*posix_file_system(), session.template_files, session.home, session.log));
  return make_runtime(session, {.stores = std::move(stores)}, std::move(templates));
}

Result<Section> home_section(const SessionOptions& session, const std::shared_ptr<Home>& home,
                             std::int64_t now) {
  CUBINET_TRY_ASSIGN(const HomeUsage usage, HomeUsage::of(*home));
  CUBINET_TRY_ASSIGN(const auto runtime, runtime_over(session, {home}));
  const std::vector<ListedKernel> kernels = listed_builds(*runtime, usage);
  const HomeCounts counts = counts_of(kernels, usage);
  const KernelListOptions options{true, now};
  Section section{"Home", home->description().place, {}};
  section.content += tiles_of(usage, counts);
  section.content += notices_of(usage, counts);
  section.content += kernel_charts(kernels, options);
  section.content += imports_of(usage, now);
  section.content += channels_of(usage, now);
  section.content += kernel_table(kernels, options);
  return section;
}

}  // namespace cubinet
