// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/file_system.hpp>
#include <cubinet/base/stopwatch.hpp>
#include <cubinet/cubin_registry/judge.hpp>
#include <cubinet/session/json.hpp>
#include <cubinet/session/mirror_folders.hpp>
#include <cubinet/session/server_policy.hpp>
#include <cubinet/session/servers.hpp>
#include <cubinet/session/table_store.hpp>

#include <algorithm>

namespace cubinet {
namespace {

Result<std::vector<PublishedList>> lists_of(const MirrorFoldersOptions& options,
                                            const ServerReference& source) {
  if (!options.lists.empty()) return options.lists;
  if (source.layout == ServerReference::Layout::folder)
    return published_lists_of(*posix_file_system(), source.path);
  return Error{ErrorCode::invalid_argument, "nothing says what '" + options.source + "' should hold",
               "name the digest of its checksums.txt with `MirrorFoldersOptions::lists`, or a bundle by its "
               "channel (#CHANNEL)"};
}

// Chooses the functions that a device needs, header by header.
class HeaderChoice {
 public:
  HeaderChoice(const SessionOptions& session, DeviceRequest request)
      : session_(session), request_(std::move(request)) {
    for (const auto& problem : request_.problems)
      unserved_.push_back({problem.text, "the folders have no header of attention kernels"});
  }

  // Returns the names that the chosen cubins have in a header.
  Result<std::vector<std::string>> functions_of(const std::string& name, ByteView header) {
    CUBINET_TRY_ASSIGN(const auto table, open_table(name, header, session_.log));
    CUBINET_TRY_ASSIGN(CubinRecords records, table->list());
    std::vector<std::string> functions;
    if (records.empty()) return functions;
    CUBINET_TRY_ASSIGN(const DeviceChoice choice,
                       choose_for_device(session_, request_, table, std::move(records)));
    for (const auto& record : choice.records)
      functions.push_back(record->entry_points.front().symbol);
    keep_unserved(choice.unserved);
    return functions;
  }
  const std::vector<UnservedProblem>& unserved() const { return unserved_; }

 private:
  // A problem is served if one folder serves it.
  void keep_unserved(const std::vector<UnservedProblem>& unserved) {
    std::erase_if(unserved_, [&](UnservedProblem& problem) {
      const auto still = std::find_if(unserved.begin(), unserved.end(),
                                      [&](const auto& each) { return each.text == problem.text; });
      if (still == unserved.end()) return true;
      problem.reason = still->reason;
      return false;
    });
  }

  const SessionOptions& session_;
  DeviceRequest request_;
  std::vector<UnservedProblem> unserved_;
};

// Returns the targets that the device can use. If `named` is not empty, returns only those that are
// in it.
Result<std::vector<SmTarget>> targets_for(ComputeCapability device, const std::vector<SmTarget>& named) {
  std::vector<SmTarget> targets;
  for (const ImageTarget target : targets_wanted(device, {}))
    if (target.kind == ImageKind::cubin) targets.push_back(target.target);
  if (named.empty()) return targets;
  std::erase_if(
      targets, [&](SmTarget target) { return std::find(named.begin(), named.end(), target) == named.end(); });
  if (!targets.empty()) return targets;
  return Error{ErrorCode::invalid_argument,
               "none of the targets is one that " + device.to_string() + " can use",
               "name targets of the device, or only the device"};
}

nlohmann::json describe_folder(const MirroredFolder& folder) {
  return {{"folder", folder.list.folder},
          {"checksums", folder.list.digest.to_hex()},
          {"listed", folder.listed},
          {"there", folder.there},
          {"fetched", folder.fetched},
          {"fetched_bytes", folder.fetched_bytes},
          {"bytes", folder.bytes},
          {"not_wanted", folder.not_wanted},
          {"left_out", describe(folder.left_out)},
          {"missing", describe(folder.missing)},
          {"damaged", describe(folder.damaged)}};
}

}  // namespace

std::optional<Error> MirrorFoldersResult::error() const {
  if (!interrupted) return std::nullopt;
  return Error{ErrorCode::unavailable, "interrupted; the mirror's pages are those of before",
               "the same command continues where this one ended"};
}

bool MirrorFoldersResult::sound() const {
  return std::all_of(folders.begin(), folders.end(), [](const MirroredFolder& folder) {
    return folder.missing.count == 0 && folder.damaged.count == 0;
  });
}

Result<std::filesystem::path> mirror_destination(const std::string& reference) {
  CUBINET_TRY_ASSIGN(const ServerReference parsed, ServerReference::parse(reference));
  if (parsed.layout == ServerReference::Layout::folder && parsed.channel.empty() && !parsed.digest)
    return std::filesystem::path(parsed.path);
  return Error{ErrorCode::invalid_argument, "'" + reference + "' is not a folder",
               "published folders are mirrored into a folder, which any static server then serves"};
}

Result<MirrorFoldersResult> mirror_folders(const SessionOptions& session,
                                           const MirrorFoldersOptions& options) {
  const Stopwatch watch;
  CUBINET_TRY_ASSIGN(const auto sources, parse_references(options.source, options.mirrors));
  for (const ServerReference& reference : sources)
    CUBINET_TRY(policy_to_contact(session, reference));
  PublishedMirrorOptions chosen;
  chosen.targets = options.targets;
  chosen.functions = options.functions;
  std::optional<HeaderChoice> choice;
  if (options.device) {
    CUBINET_TRY_ASSIGN(chosen.targets, targets_for(options.device->device.capability, options.targets));
    if (!options.device->problems.empty()) {
      choice.emplace(session, *options.device);
      chosen.choose = [&choice](const std::string& name, ByteView header) {
        return choice->functions_of(name, header);
      };
    }
  }
  CUBINET_TRY_ASSIGN(const auto lists, lists_of(options, sources.front()));
  CUBINET_TRY_ASSIGN(const auto from, open_file_servers(session.access, sources, options.cancelled));
  chosen.run = options.run;
  chosen.cancelled = options.cancelled;
  chosen.log = session.log;
  auto report = mirror_published(*from.server, lists, posix_file_system(), options.destination, chosen);
  const bool cancelled = options.cancelled && options.cancelled();
  if (!report && !cancelled) return report.error();
  MirrorFoldersResult result;
  result.source = sources.front().to_string();
  result.destination = options.destination;
  result.interrupted = !report || report->interrupted;
  if (report) result.folders = std::move(report->folders);
  if (choice && !result.interrupted) result.unserved = choice->unserved();
  result.seconds = watch.seconds();
  return result;
}

std::string to_json(const MirrorFoldersResult& result) {
  nlohmann::json document = {{"source", result.source},
                             {"destination", result.destination},
                             {"unserved", describe(result.unserved)},
                             {"seconds", result.seconds}};
  for (const MirroredFolder& folder : result.folders)
    document["folders"].push_back(describe_folder(folder));
  if (const auto error = result.error()) document.update(error_document(*error));
  return json_text(document);
}

}  // namespace cubinet
