// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/file_system.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/base/units.hpp>
#include <cubinet/session/home_usage.hpp>
#include <cubinet/session/json.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cubinet {
namespace {

// The number of builds that are named unless all are.
constexpr std::size_t kUnusedNamed = 10;

Result<ImportUsage> use_of_import(Home& home, const ImportSummary& import, const HomeStats& stats) {
  CUBINET_TRY_ASSIGN(const auto content, home.imports().read(import.number));
  ImportUsage usage{import};
  if (content == nullptr) return usage;
  for (const ArtifactFile& file : content->files) {
    const auto found = stats.last_used.find(file.digest);
    if (found == stats.last_used.end()) continue;
    ++usage.used;
    usage.last_used = std::max(usage.last_used, found->second);
  }
  return usage;
}

std::string unused_text(const HomeUsage& usage, bool names_all) {
  std::uint64_t bytes = 0;
  for (const auto& record : usage.never_used)
    bytes += record->size;
  const std::size_t count = usage.never_used.size();
  std::string text = fmt::format("\nnever used   {} of {}, {}", count, plural(usage.stats.entries, "entry"),
                                 format_bytes(bytes));
  for (std::size_t i = 0; i < count && (i < kUnusedNamed || names_all); ++i) {
    const CubinRecord& record = *usage.never_used[i];
    text += fmt::format("\n  {} {} for {}", record.identity.key().to_string(), kernel_title(record),
                        record.target_name());
  }
  if (count > kUnusedNamed && !names_all) text += fmt::format("\n  and {} more", count - kUnusedNamed);
  return text;
}

}  // namespace

Result<HomeUsage> HomeUsage::of(Home& home) {
  HomeUsage usage;
  CUBINET_TRY_ASSIGN(usage.stats, home.stats());
  CUBINET_TRY_ASSIGN(usage.builds, home.list());
  std::erase_if(usage.builds, [](const auto& record) { return record->origin == CubinOrigin::imported; });
  std::copy_if(usage.builds.begin(), usage.builds.end(), std::back_inserter(usage.never_used),
               [&](const auto& record) { return !usage.stats.last_used.contains(record->digest); });
  CUBINET_TRY_ASSIGN(const auto imports, home.imports().list());
  for (const ImportSummary& import : imports) {
    CUBINET_TRY_ASSIGN(usage.imports.emplace_back(), use_of_import(home, import, usage.stats));
  }
  CUBINET_TRY_ASSIGN(usage.channels, home.downloads().channels());
  // Checks the folder, because the home may have been opened for reading only.
  usage.noted = posix_file_system()->check_writable(home.description().place).has_value();
  return usage;
}

nlohmann::json describe(const HomeUsage& usage) {
  auto unused = nlohmann::json::array();
  for (const auto& record : usage.never_used)
    unused.push_back(describe(*record));
  auto imports = nlohmann::json::array();
  for (const ImportUsage& each : usage.imports) {
    imports.push_back(
        {{"number", each.import.number},
         {"folder", each.import.folder},
         {"cubins", each.import.files},
         {"used", each.used},
         {"last_used", each.used == 0 ? nlohmann::json(nullptr) : nlohmann::json(each.last_used)}});
  }
  auto servers = nlohmann::json::array();
  for (const KnownChannel& channel : usage.channels) {
    servers.push_back({{"place", channel.place},
                       {"asked", channel.uses.asked},
                       {"found", channel.uses.found},
                       {"used", channel.uses.used},
                       {"fetched_bytes", channel.uses.bytes}});
  }
  return {{"asked", usage.stats.uses.asked},
          {"found", usage.stats.uses.found},
          {"used", usage.stats.uses.used},
          {"never_used", std::move(unused)},
          {"imports", std::move(imports)},
          {"servers", std::move(servers)},
          {"noted", usage.noted}};
}

std::string to_text(const HomeUsage& usage, bool names_all, std::int64_t now) {
  const StoreUses& uses = usage.stats.uses;
  std::string text = fmt::format("\nlook-ups     {}, {} found something, {} used", uses.asked, uses.found,
                                 plural(uses.used, "image"));
  text += unused_text(usage, names_all);
  for (const ImportUsage& each : usage.imports) {
    text += fmt::format("\nimport {:<5} {}: {} of {} used{}", each.import.number,
                        printable(each.import.folder), each.used, plural(each.import.files, "cubin"),
                        each.used == 0 ? "" : ", last " + format_age(each.last_used, now));
  }
  for (const KnownChannel& channel : usage.channels) {
    text += fmt::format("\nserver       {}: {} look-ups, {} found something, {} used, {} fetched",
                        printable(channel.place), channel.uses.asked, channel.uses.found,
                        plural(channel.uses.used, "image"), format_bytes(channel.uses.bytes));
  }
  if (!usage.noted) text += "\nthis user cannot write the home: what it uses of it is not noted";
  return text;
}

}  // namespace cubinet
