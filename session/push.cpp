// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/file_system.hpp>
#include <cubinet/distribution/bundle_transfer.hpp>
#include <cubinet/distribution/channel.hpp>
#include <cubinet/session/json.hpp>
#include <cubinet/session/push.hpp>
#include <cubinet/session/server_policy.hpp>
#include <cubinet/session/servers.hpp>
#include <cubinet/trust/signature.hpp>

namespace cubinet {
namespace {

constexpr long kLeastHttpStatus = 100;  // smaller ones are codes of libcurl

// Reads FILE.<key id>.minisig of every key.
Result<std::vector<BundleSignature>> read_signatures(FileSystem& files, const std::filesystem::path& bundle) {
  const std::filesystem::path folder = bundle.has_parent_path() ? bundle.parent_path() : ".";
  const std::string before = bundle.filename().string() + ".";
  constexpr std::string_view after = ".minisig";
  std::vector<BundleSignature> signatures;
  CUBINET_TRY_ASSIGN(const Listing listing, files.list(folder));
  for (const std::string& name : listing.names) {
    if (!name.starts_with(before) || !name.ends_with(after) ||
        name.size() != before.size() + 16 + after.size())
      continue;
    CUBINET_TRY_ASSIGN(Bytes content, files.read(folder / name, kMaximumSignatureBytes));
    signatures.push_back({name.substr(before.size(), 16), std::move(content)});
  }
  return signatures;
}

// Returns the channel that a bundle states. A server can name every channel of a push.
Result<std::string> channel_stated_by(const BundleOptions& stated) {
  if (stated.channel.empty()) return std::string();
  if (auto pushable = check_channel(stated.channel); !pushable) {
    Error error = std::move(pushable).error();
    error.message = "the bundle cannot be pushed as a version of its own channel: " + error.message;
    error.remedy = "name a channel of the server: #CHANNEL, oci with :CHANNEL";
    return error;
  }
  return stated.channel;
}

// Returns the version that the channel names now if that is newer, and logs a warning. A channel
// that does not exist or cannot be read has none. Returns an error if the server does not answer.
Result<std::optional<std::uint64_t>> newer_on_server(const SessionOptions& session,
                                                     const ServerReference& reference,
                                                     const std::shared_ptr<ContentServer>& server,
                                                     std::uint64_t version) {
  const std::optional<std::uint64_t> none;
  if (reference.channel.empty()) return none;
  const Channel channel({reference, server});
  const auto named = channel.newest();
  // S3 refuses (403) a missing key to those who may not list the bucket.
  const bool answered = named || named.error().native >= kLeastHttpStatus;
  if (!answered && named.error().code == ErrorCode::unavailable) return named.error();
  if (!named) return none;
  const auto root = channel.root(*named);
  if (!root || root->options.version <= version) return none;
  log(session.log, LogLevel::warning,
      channel.place() + " names version " + std::to_string(root->options.version) +
          ", and is made to name the older version " + std::to_string(version));
  return std::optional(root->options.version);
}

}  // namespace

Result<PushResult> push(const SessionOptions& session, const PushOptions& options) {
  CUBINET_TRY_ASSIGN(const ServerReference reference, parse_destination(options.reference));
  CUBINET_TRY(policy_to_contact(session, reference));
  const std::shared_ptr<FileSystem> files = posix_file_system();
  CUBINET_TRY_ASSIGN(const auto bundle, Bundle::open(options.bundle, files));
  CUBINET_TRY_ASSIGN(const VerifyReport report, bundle->verify());
  if (!report.findings.empty()) {
    return Error{ErrorCode::corruption,
                 "'" + options.bundle + "' is damaged and not pushed: " + report.findings.front().reason,
                 "create the bundle or fetch it again"};
  }
  BundleUpload upload{options.bundle, bundle->root_bytes().size()};
  CUBINET_TRY_ASSIGN(upload.signatures, read_signatures(*files, options.bundle));
  const BundleOptions& stated = bundle->root().options;
  if (stated.version != 0)
    upload.annotations["org.opencontainers.image.version"] = std::to_string(stated.version);
  PushResult result;
  result.channel = reference.channel;
  if (result.channel.empty()) {
    CUBINET_TRY_ASSIGN(result.channel, channel_stated_by(stated));
  }
  CUBINET_TRY_ASSIGN(const auto servers, open_servers(session.access, {reference}));
  ServerReference channel = reference;
  channel.channel = result.channel;
  CUBINET_TRY_ASSIGN(result.older_than, newer_on_server(session, channel, servers.server, stated.version));
  CUBINET_TRY_ASSIGN(const Sha256Digest manifest,
                     push_bundle(*servers.server, files, upload, result.channel));
  result.manifest = manifest.to_hex();
  result.reference = reference.to_string() + "@sha256:" + result.manifest;
  result.signatures = upload.signatures.size();
  return result;
}

std::string to_json(const PushResult& result) {
  return json_text({{"reference", result.reference},
                    {"manifest", result.manifest},
                    {"channel", result.channel},
                    {"signatures", result.signatures},
                    {"older_than", result.older_than ? nlohmann::json(*result.older_than) : nullptr}});
}

}  // namespace cubinet
