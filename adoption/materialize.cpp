// SPDX-License-Identifier: Apache-2.0
#include "cache_entries.hpp"

#include <cubinet/adoption/adoption.hpp>
#include <cubinet/base/text.hpp>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <unistd.h>

namespace cubinet {
namespace {

constexpr std::string_view kStaging = ".cubinet.";

// A folder that only its maker uses. Processes of several containers, which share a cache, may have
// the same process id, so the name is random.
struct Stage {
  std::string name;
  CacheFolder folder;
};

Result<Stage> make_stage(const CacheFolder& cache) {
  for (;;) {
    std::uint64_t digits = 0;
    if (::getentropy(&digits, sizeof(digits)) != 0) return io_error("cannot get random digits", errno);
    std::string name = std::string(kStaging) + std::to_string(digits) + ".tmp";
    CUBINET_TRY_ASSIGN(std::optional<CacheFolder> made, cache.make_new_folder(name));
    if (made) return Stage{std::move(name), *std::move(made)};
  }
}

// Returns whether every file exists with the same content.
bool lies_there(const CacheFolder& folder, const std::vector<CacheFile>& files) {
  for (const CacheFile& file : files) {
    const auto content = folder.read(file.name, file.content.size());
    if (!content || *content != file.content) return false;
  }
  return true;
}

// Writes entries into one folder. An entry is written under a temporary name that no tool reads,
// then renamed, so readers see all of it or nothing.
class CacheWriter {
 public:
  CacheWriter(const CacheTool& tool, CacheFolder cache, CacheFolder entries, std::string path)
      : tool_(tool), cache_(std::move(cache)), entries_(std::move(entries)), path_(std::move(path)) {}

  static Result<CacheWriter> open(const CacheTool& tool, const std::string& folder) {
    std::error_code failure;
    const std::string path = std::filesystem::absolute(folder, failure).lexically_normal().string();
    if (failure) return io_error("cannot tell the working directory", failure.value());
    CUBINET_TRY_ASSIGN(CacheFolder cache, CacheFolder::make(path));
    cache.remove_abandoned(kStaging);
    const std::string below(tool.entries.empty() ? "." : tool.entries);
    CUBINET_TRY_ASSIGN(CacheFolder entries, cache.make_folder(below));
    return CacheWriter(tool, std::move(cache), std::move(entries),
                       path + (tool.entries.empty() ? "" : "/" + below));
  }

  enum class Outcome { written, present, taken };
  Result<Outcome> put(const std::string& entry, std::vector<CacheFile> files) const {
    if (tool_.place != nullptr) CUBINET_TRY(tool_.place(files, path_ + "/" + entry));
    CUBINET_TRY_ASSIGN(const Stage stage, make_stage(cache_));
    auto outcome = tool_.shape == CacheTool::Shape::file ? put_file(stage.folder, entry, files.front())
                                                         : put_folder(stage.folder, stage.name, entry, files);
    cache_.remove_folder(stage.name);
    return outcome;
  }

 private:
  Result<Outcome> put_folder(const CacheFolder& stage, const std::string& staging, const std::string& entry,
                             const std::vector<CacheFile>& files) const {
    for (const CacheFile& file : files)
      CUBINET_TRY(stage.write(file.name, file.content));
    CUBINET_TRY(stage.sync());
    CUBINET_TRY_ASSIGN(const bool moved, cache_.move_folder(staging, entries_, entry));
    if (moved) return Outcome::written;
    const auto there = entries_.folder(entry);
    return there && lies_there(*there, files) ? Outcome::present : Outcome::taken;
  }

  Result<Outcome> put_file(const CacheFolder& stage, const std::string& entry, const CacheFile& file) const {
    CUBINET_TRY(stage.write("entry", file.content));
    CUBINET_TRY_ASSIGN(const CacheFolder folder, entries_.make_folder(entry.substr(0, 2)));
    const CacheFile placed{entry.substr(2), file.content};
    CUBINET_TRY_ASSIGN(const bool moved, stage.move_file("entry", folder, placed.name));
    if (moved) return Outcome::written;
    return lies_there(folder, {placed}) ? Outcome::present : Outcome::taken;
  }

  const CacheTool& tool_;
  CacheFolder cache_;
  CacheFolder entries_;
  std::string path_;  // absolute path of entries_
};

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

}  // namespace

bool has_trusted_signatures(const Bundle& bundle) {
  return bundle.policy() && bundle.policy()->threshold > 0 &&
         bundle.signers().size() >= bundle.policy()->threshold;
}

Result<MaterializeReport> materialize_cache(Store& store, const MaterializeRequest& request) {
  CUBINET_TRY_ASSIGN(const CacheTool* tool, find_cache_tool(request.tool));
  CUBINET_TRY_ASSIGN(const CubinRecords records, store.list());
  std::optional<CacheWriter> writer;
  MaterializeReport report;
  std::set<std::string> done;
  for (const auto& record : records) {
    CUBINET_TRY_ASSIGN(const std::optional<KernelSpec> entry_spec, entry_of(*record, tool->name));
    if (!entry_spec) continue;
    const KernelSpec& spec = *entry_spec;
    const std::string entry = parameter_text(spec, "entry");
    if (done.contains(entry)) continue;
    if (std::string reason = why_not_wanted(*tool, request, spec, *record); !reason.empty()) {
      report.left_out.push_back({entry, std::move(reason)});
      continue;
    }
    auto files = files_of(store, *tool, request, record, spec);
    if (!files) {
      report.left_out.push_back({entry, files.error().message});
      continue;
    }
    if (!writer) {
      CUBINET_TRY_ASSIGN(CacheWriter opened, CacheWriter::open(*tool, request.folder));
      writer.emplace(std::move(opened));
    }
    CUBINET_TRY_ASSIGN(const auto outcome, writer->put(entry, *std::move(files)));
    done.insert(entry);
    if (outcome == CacheWriter::Outcome::written) {
      report.written.push_back(entry);
    } else if (outcome == CacheWriter::Outcome::present) {
      report.present.push_back(entry);
    } else {
      report.left_out.push_back({entry, "another entry exists there: remove it, or name another folder"});
    }
  }
  return report;
}

}  // namespace cubinet
