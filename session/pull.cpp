// SPDX-License-Identifier: Apache-2.0
#include <cubinet/cubin_registry/byte_source.hpp>
#include <cubinet/distribution/channel.hpp>
#include <cubinet/distribution/kept_server.hpp>
#include <cubinet/session/json.hpp>
#include <cubinet/session/open_stores.hpp>
#include <cubinet/session/pull.hpp>
#include <cubinet/session/server_policy.hpp>
#include <cubinet/session/servers.hpp>
#include <cubinet/session/transfer_watch.hpp>

#include <algorithm>
#include <filesystem>

namespace cubinet {
namespace {

// Opens the home that keeps fetched content. It is created only if kernels are imported into it.
Result<std::shared_ptr<Home>> open_home_to_pull(const SessionOptions& session, const PullOptions& options) {
  const bool needed = options.output.empty() && !options.dry_run;
  std::error_code unknown;
  const bool exists = !session.home.empty() && std::filesystem::exists(session.home, unknown);
  if (!needed && !exists) return std::shared_ptr<Home>();
  auto home = open_home(session, HomeOptions::Access::read_write);
  if (home || needed) return home;
  log(session.log, LogLevel::warning, "no home keeps what is fetched: " + home.error().to_line());
  return std::shared_ptr<Home>();
}

// The kernels to pull and the parts of the bundle that hold them.
struct PulledPart {
  CubinRecords chosen;
  CubinRecords records;  // the kernels that the home does not have
  std::vector<BytePart> frames;
};

// Chooses the kernels, counts those that the home has, and returns the others.
Result<PulledPart> choose_part(const SessionOptions& session, const PullOptions& options,
                               const std::shared_ptr<Bundle>& bundle, Home* home, PullResult& result) {
  PulledPart part;
  CUBINET_TRY_ASSIGN(CubinRecords chosen, bundle->list());
  chosen = select_records(options.filter, std::move(chosen));
  if (options.device) {
    CUBINET_TRY_ASSIGN(DeviceChoice choice,
                       choose_for_device(session, *options.device, bundle, std::move(chosen)));
    chosen = std::move(choice.records);
    result.unserved = std::move(choice.unserved);
  }
  for (const auto& record : chosen) {
    bool present = false;
    if (home != nullptr && options.output.empty()) {
      CUBINET_TRY_ASSIGN(const CubinRecords builds, home->find(record->identity.kernel()));
      present = std::any_of(builds.begin(), builds.end(),
                            [&](const auto& build) { return build->digest == record->digest; });
    }
    result.present += present ? 1U : 0U;
    if (!present) part.records.push_back(record);
  }
  part.chosen = std::move(chosen);
  CUBINET_TRY_ASSIGN(part.frames, frames_of(*bundle, part.records));
  result.kernels = part.records.size();
  for (const BytePart& frame : part.frames)
    result.bytes += frame.count;
  return part;
}

// Fetches the part into the home or into a bundle. The home keeps each frame until all of them are
// used, so that an interrupted pull can continue.
Result<void> fetch_part(const PullOptions& options, const ChannelBundle& opened, const PulledPart& part,
                        Home* home, PullResult& result) {
  CUBINET_TRY(opened.source->expect(part.frames));
  if (options.output.empty()) {
    CUBINET_TRY_ASSIGN(ImportReport report, import_records(*opened.bundle, part.records, *home));
    result.refused = std::move(report.refused);
    result.outranked = std::move(report.outranked);
  } else {
    CUBINET_TRY(combine_bundles(options.output, {{opened.bundle, part.records}},
                                opened.bundle->root().options, posix_file_system()));
  }
  if (home == nullptr || !home->description().writable) return {};
  for (const BytePart& frame : part.frames) {
    if (!frame.shared && frame.digest) CUBINET_TRY(home->downloads().forget(*frame.digest));
  }
  return {};
}

// Returns corruption if a part of the bundle is damaged.
Result<void> check_sound(const std::filesystem::path& file) {
  CUBINET_TRY_ASSIGN(const auto bundle, Bundle::open(file.string()));
  CUBINET_TRY_ASSIGN(const VerifyReport report, bundle->verify());
  if (report.findings.empty()) return {};
  return Error{ErrorCode::corruption,
               "the bundle on the server is damaged: " + report.findings.front().reason,
               "ask its publisher to upload it again, or name another mirror"};
}

Result<void> transfer(const SessionOptions& session, const PullOptions& options, ContentServer& server,
                      const Channel& channel, const ChannelBundle& opened, Home* home, TransferWatch* watch,
                      PullResult& result) {
  const BundleRoot& root = opened.bundle->root();
  if (!options.is_part() && (options.dry_run || !options.output.empty())) {
    result.kernels = root.records;
    result.bytes = opened.remote.root.size() + opened.remote.pack.size;
    if (options.dry_run) return {};
    if (watch != nullptr) watch->expect(opened.remote.pack.size);
    return pull_bundle(server, opened.remote, root, *posix_file_system(), options.output, check_sound);
  }
  CUBINET_TRY_ASSIGN(const PulledPart part, choose_part(session, options, opened.bundle, home, result));
  if (options.dry_run || result.empty()) return {};
  // The pin is set first, because the import reports the builds that stay in use.
  if (options.output.empty()) CUBINET_TRY(channel.prefer(opened.manifest, part.chosen));
  if (watch != nullptr) watch->expect(result.bytes);
  return fetch_part(options, opened, part, home, result);
}

}  // namespace

Result<PullResult> pull(const SessionOptions& session, const PullOptions& options) {
  CUBINET_TRY_ASSIGN(const auto references, parse_references(options.reference, options.mirrors));
  const ServerReference& first = references.front();
  CUBINET_TRY(check_names_bundle(first));
  CUBINET_TRY_ASSIGN(auto policy, policy_to_contact(session, first));
  // The policy of the first reference judges the bundle. The policies of mirrors only allow
  // contact.
  for (const ServerReference& reference : references)
    CUBINET_TRY(policy_to_contact(session, reference));
  CUBINET_TRY_ASSIGN(const std::shared_ptr<Home> home, open_home_to_pull(session, options));
  CUBINET_TRY_ASSIGN(const auto servers, open_servers(session.access, references, options.cancelled));
  std::shared_ptr<ContentServer> server = servers.server;
  std::shared_ptr<TransferWatch> watch;
  if (options.progress || options.cancelled)
    server = watch = std::make_shared<TransferWatch>(server, options.progress, options.cancelled);
  server = std::make_shared<KeptServer>(server, KeptServerOptions{.home = home, .log = session.log});
  const Channel channel({first, server, home, std::move(policy), session.log});
  CUBINET_TRY_ASSIGN(const ChannelManifest manifest, channel.current());
  CUBINET_TRY_ASSIGN(const ChannelBundle opened,
                     channel.open(manifest, {Expiry::enforced, !options.dry_run}));
  PullResult result;
  result.reference = first.to_string() + "@sha256:" + manifest.digest.to_hex();
  result.channel = opened.bundle->root().options.channel;
  result.version = opened.bundle->root().options.version;
  result.pinned = manifest.pinned;
  result.older_than = channel.newer_before(opened);
  result.trust = TrustReport::of(*opened.bundle);
  result.bundle = options.output;
  CUBINET_TRY(transfer(session, options, *server, channel, opened, home.get(), watch.get(), result));
  if (!options.dry_run && !result.empty()) channel.remember(manifest);
  return result;
}

std::string to_json(const PullResult& result) {
  nlohmann::json refused = nlohmann::json::array();
  for (const StoreFinding& finding : result.refused)
    refused.push_back({{"kind", to_string(finding.kind)}, {"reason", finding.reason}});
  return json_text({{"reference", result.reference},
                    {"channel", result.channel},
                    {"version", result.version},
                    {"kernels", result.kernels},
                    {"present", result.present},
                    {"pinned", result.pinned},
                    {"older_than", result.older_than ? nlohmann::json(*result.older_than) : nullptr},
                    {"bytes", result.bytes},
                    {"refused", std::move(refused)},
                    {"outranked", describe(result.outranked)},
                    {"unserved", describe(result.unserved)},
                    {"trust", describe(result.trust)},
                    {"bundle", result.bundle}});
}

}  // namespace cubinet
