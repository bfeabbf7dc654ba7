// SPDX-License-Identifier: Apache-2.0
#include <cubinet/distribution/channel.hpp>
#include <cubinet/session/json.hpp>
#include <cubinet/session/mirror_bundle.hpp>
#include <cubinet/session/server_policy.hpp>
#include <cubinet/session/servers.hpp>
#include <cubinet/session/transfer_watch.hpp>

namespace cubinet {

Result<bool> names_bundle(const std::string& reference) {
  CUBINET_TRY_ASSIGN(const ServerReference parsed, ServerReference::parse(reference));
  return !parsed.channel.empty() || parsed.digest.has_value();
}

Result<MirrorBundleResult> mirror_bundle(const SessionOptions& session, const MirrorBundleOptions& options) {
  CUBINET_TRY_ASSIGN(const auto sources, parse_references(options.source, options.mirrors));
  const ServerReference& first = sources.front();
  CUBINET_TRY(check_names_bundle(first));
  CUBINET_TRY_ASSIGN(const ServerReference destination, parse_destination(options.destination));
  CUBINET_TRY_ASSIGN(auto policy, policy_to_contact(session, first));
  for (const ServerReference& reference : sources)
    CUBINET_TRY(policy_to_contact(session, reference));
  CUBINET_TRY_ASSIGN(const auto from, open_servers(session.access, sources, options.cancelled));
  CUBINET_TRY_ASSIGN(const auto to,
                     open_servers(options.destination_access, {destination}, options.cancelled));
  const auto watch = std::make_shared<TransferWatch>(from.server, options.progress, options.cancelled);
  const Channel channel({first, watch, nullptr, std::move(policy), session.log});
  CUBINET_TRY_ASSIGN(const ChannelManifest manifest, channel.current());
  CUBINET_TRY_ASSIGN(const ChannelBundle opened, channel.open(manifest));
  MirrorBundleResult result;
  result.channel = destination.channel.empty() ? first.channel : destination.channel;
  watch->expect(opened.remote.pack.size);
  CUBINET_TRY(copy_bundle(*watch, opened.remote, opened.bundle->root(), *to.server, result.channel));
  result.manifest = manifest.digest.to_hex();
  result.reference = destination.to_string() + "@sha256:" + result.manifest;
  result.version = opened.bundle->root().options.version;
  result.bytes = opened.remote.root.size() + opened.remote.pack.size;
  result.trust = TrustReport::of(*opened.bundle);
  return result;
}

std::string to_json(const MirrorBundleResult& result) {
  return json_text({{"reference", result.reference},
                    {"manifest", result.manifest},
                    {"channel", result.channel},
                    {"version", result.version},
                    {"bytes", result.bytes},
                    {"trust", describe(result.trust)}});
}

}  // namespace cubinet
