// SPDX-License-Identifier: Apache-2.0
#include "cache_entries.hpp"
#include "cache_writer.hpp"

#include <cubinet/adoption/adoption.hpp>
#include <cubinet/base/text.hpp>

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cubinet {
namespace {

// Returns the reason why an entry is not for this machine according to its record. Empty: it may
// be.
std::string why_not_wanted(const CacheTool& tool, const MaterializeRequest& request, const KernelSpec& spec,
                           const CubinRecord& record) {
  const std::string version = parameter_text(spec, "version");
  if (!request.version.empty() && version != request.version && version != kUnstatedVersion)
    return "it was made by version " + printable(version);
  if (spec.parameters.contains("host")) return {};
  if (tool.own_device_only && record.target.capability() != request.device) {
    return "it is for " + record.target_name() + ", and " + std::string(tool.name) +
           " looks for code of the device's own " + request.device.to_string();
  }
  return why_not_on(record.target, request.device);
}

// Returns the files of an entry after checking them against its record. Host code is detected from
// the files, not from the record.
Result<std::vector<CacheFile>> files_of(Store& store, const CacheTool& tool,
                                        const MaterializeRequest& request,
                                        const std::shared_ptr<const CubinRecord>& record,
                                        const KernelSpec& spec) {
  const std::string entry = parameter_text(spec, "entry");
  if (!tool.is_entry(entry)) return not_taken("its name is none of the tool's");
  CUBINET_TRY_ASSIGN(const auto cubin, store.load(record));
  if (!cubin) return not_taken("its image is gone or damaged");
  CUBINET_TRY_ASSIGN(std::vector<CacheFile> files, decode_cache_entry(*cubin->image));
  CUBINET_TRY_ASSIGN(const EntryFacts facts, tool.read(entry, files));
  if (facts.target != record->target || facts.host_code != spec.parameters.contains("host") ||
      (!facts.version.empty() && facts.version != parameter_text(spec, "version")))
    return not_taken("it is not what it is listed as");
  if (facts.host_code && !request.host_code)
    return not_taken("it runs on the host, and nobody who is trusted has signed it");
  return files;
}

// The entries of one materialize_cache() on their way into a folder, and into its report.
class Filling {
 public:
  Filling(CacheWriter writer, MaterializeReport& report) : writer_(std::move(writer)), report_(report) {}

  bool is_done(const std::string& entry) const { return done_.contains(entry); }

  void add(const std::string& entry, std::vector<CacheFile> files) {
    done_.insert(entry);
    if (const auto placed = writer_.place(entry, files); !placed) return fail(entry, placed.error());
    if (writer_.has(entry, files)) return report_.present.push_back(entry);
    if (report_.error) return fail(entry, *report_.error);
    if (const auto staged = writer_.stage(entry, files); !staged) return fail(entry, staged.error());
    if (writer_.staged() == kStagedEntries) publish();
  }

  void publish() {
    for (const CacheWriter::Published& each : writer_.publish()) {
      if (!each.outcome) {
        fail(each.entry, each.outcome.error());
      } else if (*each.outcome == CacheWriter::Outcome::written) {
        report_.written.push_back(each.entry);
      } else if (*each.outcome == CacheWriter::Outcome::present) {
        report_.present.push_back(each.entry);
      } else {
        report_.left_out.push_back(
            {each.entry, "another entry exists there: remove it, or name another folder"});
      }
    }
  }

 private:
  // Limits what a process that is killed has staged in vain.
  static constexpr std::size_t kStagedEntries = 512;

  void fail(const std::string& entry, const Error& error) {
    report_.left_out.push_back({entry, error.message});
    if (!report_.error) report_.error = error;
  }

  CacheWriter writer_;
  MaterializeReport& report_;
  std::set<std::string> done_;
};

}  // namespace

bool has_trusted_signatures(const Bundle& bundle) {
  return bundle.policy() && bundle.policy()->threshold > 0 &&
         bundle.signers().size() >= bundle.policy()->threshold;
}

Result<MaterializeReport> materialize_cache(Store& store, const MaterializeRequest& request) {
  CUBINET_TRY_ASSIGN(const CacheTool* tool, find_cache_tool(request.tool));
  CUBINET_TRY_ASSIGN(const CubinRecords records, store.list());
  std::optional<Filling> filling;
  MaterializeReport report;
  for (const auto& record : records) {
    const auto spec = entry_of(*record, tool->name);
    if (!spec) report.left_out.push_back({record->identity.key().to_string(), spec.error().message});
    if (!spec || !*spec) continue;
    const std::string entry = parameter_text(**spec, "entry");
    if (filling && filling->is_done(entry)) continue;
    if (std::string reason = why_not_wanted(*tool, request, **spec, *record); !reason.empty()) {
      report.left_out.push_back({entry, std::move(reason)});
      continue;
    }
    auto files = files_of(store, *tool, request, record, **spec);
    if (!files) {
      report.left_out.push_back({entry, files.error().message});
      continue;
    }
    if (!filling) {
      CUBINET_TRY_ASSIGN(CacheWriter writer, CacheWriter::open(*tool, request.folder));
      filling.emplace(std::move(writer), report);
    }
    filling->add(entry, *std::move(files));
  }
  if (filling) filling->publish();
  return report;
}

}  // namespace cubinet
