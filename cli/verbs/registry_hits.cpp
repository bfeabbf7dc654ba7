// SPDX-License-Identifier: Apache-2.0
#include "registry_hits.hpp"

#include "describe.hpp"
#include "registry_retention.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/cubin_registry/downloads.hpp>
#include <cubinet/cubin_registry/imports.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

// The number of entries that are named without -v.
constexpr std::size_t kNamed = 10;

struct ImportUse {
  std::uint64_t used = 0;
  std::int64_t last = 0;
};

Result<ImportUse> use_of(Home& home, const ImportSummary& import, const HomeStats& stats) {
  CUBINET_TRY_ASSIGN(const auto content, home.imports().read(import.number));
  ImportUse use;
  if (content == nullptr) return use;
  for (const ArtifactFile& file : content->files) {
    const auto found = stats.last_used.find(file.digest);
    if (found == stats.last_used.end()) continue;
    ++use.used;
    use.last = std::max(use.last, found->second);
  }
  return use;
}

Hits unused_entries(const CubinRecords& records, const HomeStats& stats, bool names_all) {
  Hits unused{"", nlohmann::json::array()};
  std::vector<std::string> lines;
  std::uint64_t bytes = 0;
  for (const auto& record : records) {
    if (record->origin == CubinOrigin::imported || stats.last_used.count(record->digest) != 0) continue;
    unused.described.push_back(describe(*record));
    bytes += record->size;
    lines.push_back(fmt::format("\n  {} {} for {}", record->identity.key().to_string(), kernel_title(*record),
                                record->target_name()));
  }
  unused.text = fmt::format("\nnever used   {} of {}, {}", lines.size(), plural(stats.entries, "entry"),
                            format_bytes(bytes));
  for (std::size_t i = 0; i < lines.size() && (i < kNamed || names_all); ++i)
    unused.text += lines[i];
  if (lines.size() > kNamed && !names_all)
    unused.text += fmt::format("\n  and {} more: -v", lines.size() - kNamed);
  return unused;
}

Result<Hits> import_uses(Home& home, const HomeStats& stats) {
  Hits hits{"", nlohmann::json::array()};
  CUBINET_TRY_ASSIGN(const auto imports, home.imports().list());
  for (const ImportSummary& import : imports) {
    CUBINET_TRY_ASSIGN(const ImportUse use, use_of(home, import, stats));
    hits.text +=
        fmt::format("\nimport {:<5} {}: {} of {} used{}", import.number, printable(import.folder), use.used,
                    plural(import.files, "cubin"), use.used == 0 ? "" : ", last " + format_age(use.last));
    hits.described.push_back(
        {{"number", import.number},
         {"folder", import.folder},
         {"cubins", import.files},
         {"used", use.used},
         {"last_used", use.used == 0 ? nlohmann::json(nullptr) : nlohmann::json(use.last)}});
  }
  return hits;
}

Result<Hits> server_uses(Home& home) {
  Hits hits{"", nlohmann::json::array()};
  CUBINET_TRY_ASSIGN(const auto channels, home.downloads().channels());
  for (const KnownChannel& channel : channels) {
    const StoreUses& uses = channel.uses;
    hits.text += fmt::format("\nserver       {}: {} look-ups, {} found something, {} used, {} fetched",
                             printable(channel.place), uses.asked, uses.found, plural(uses.used, "image"),
                             format_bytes(uses.bytes));
    hits.described.push_back({{"place", channel.place},
                              {"asked", uses.asked},
                              {"found", uses.found},
                              {"used", uses.used},
                              {"fetched_bytes", uses.bytes}});
  }
  return hits;
}

}  // namespace

Result<Hits> hits_of(const Context& context, Home* home, const HomeStats& stats) {
  CubinRecords records;
  Hits imports{"", nlohmann::json::array()};
  Hits servers{"", nlohmann::json::array()};
  if (home != nullptr) {
    CUBINET_TRY_ASSIGN(records, home->list());
    CUBINET_TRY_ASSIGN(imports, import_uses(*home, stats));
    CUBINET_TRY_ASSIGN(servers, server_uses(*home));
  }
  Hits unused = unused_entries(records, stats, context.verbose());
  Hits hits;
  hits.text = fmt::format("\nlook-ups     {}, {} found something, {} used", stats.uses.asked,
                          stats.uses.found, plural(stats.uses.used, "image")) +
              unused.text + imports.text + servers.text;
  // Checks the folder, because this command opened the home for reading only. A home that does not
  // exist yet will be writable for this user.
  const bool noted =
      home == nullptr || context.files()->check_writable(home->description().place).has_value();
  if (!noted) hits.text += "\nthis user cannot write the home: what it uses of it is not noted";
  hits.described = {{"asked", stats.uses.asked},
                    {"found", stats.uses.found},
                    {"used", stats.uses.used},
                    {"never_used", std::move(unused.described)},
                    {"imports", std::move(imports.described)},
                    {"servers", std::move(servers.described)},
                    {"noted", noted}};
  return hits;
}

}  // namespace cubinet::cli
