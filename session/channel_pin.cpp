// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/distribution/channel.hpp>
#include <cubinet/distribution/kept_server.hpp>
#include <cubinet/session/channel_pin.hpp>
#include <cubinet/session/json.hpp>
#include <cubinet/session/open_stores.hpp>
#include <cubinet/session/server_policy.hpp>
#include <cubinet/session/servers.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace cubinet {
namespace {

// Returns the manifest of a version, among those that the home knows and the one that the channel
// names now.
Result<Sha256Digest> manifest_of_version(const SessionOptions& session, std::uint64_t version,
                                         const ServerReference& reference, const KnownChannel& known,
                                         const std::shared_ptr<Home>& home) {
  CUBINET_TRY_ASSIGN(auto policy, policy_to_contact(session, reference));
  CUBINET_TRY_ASSIGN(const auto servers, open_servers(session.access, {reference}));
  const auto server =
      std::make_shared<KeptServer>(servers.server, KeptServerOptions{.home = home, .log = session.log});
  const Channel channel({reference, server, home, std::move(policy), session.log});
  std::vector<std::string> others;
  std::vector<Sha256Digest> seen;
  const auto has_version = [&](const std::optional<Sha256Digest>& manifest) {
    if (!manifest || std::find(seen.begin(), seen.end(), *manifest) != seen.end()) return false;
    seen.push_back(*manifest);
    const auto root = channel.root({*manifest, true});
    if (root && root->options.version == version) return true;
    others.push_back(root ? std::to_string(root->options.version) : root.error().message);
    return false;
  };
  for (const auto& manifest : {known.manifest, known.before, known.pinned})
    if (has_version(manifest)) return *manifest;
  const auto named = server->read_channel(reference.channel);
  if (!named) others.push_back(named.error().message);
  if (named && has_version(*named)) return **named;
  return Error{
      ErrorCode::not_found,
      fmt::format("version {} of {} is not known: versions are looked up only among the manifests that "
                  "the channel names now, named last and before, and that is pinned (there are: {})",
                  version, reference.to_full_string(), others.empty() ? "none" : join(others, "; ")),
      "name its manifest with `PinOptions::manifest`"};
}

Result<Sha256Digest> parse_manifest_digest(std::string_view text) {
  const std::string given(text);
  if (text.starts_with("sha256:")) text.remove_prefix(7);
  const auto digest = Sha256Digest::parse(text);
  if (digest) return *digest;
  return Error{ErrorCode::invalid_argument,
               "`PinOptions::manifest`: '" + printable(given, kQuotedBytes) + "' is not a digest",
               "give its 64 hexadecimal digits"};
}

Result<Sha256Digest> manifest_to_pin(const SessionOptions& session, const PinOptions& options,
                                     const ServerReference& reference, const KnownChannel& known,
                                     const std::shared_ptr<Home>& home) {
  if (options.version) return manifest_of_version(session, *options.version, reference, known, home);
  if (!options.manifest.empty()) return parse_manifest_digest(options.manifest);
  const auto& wanted = options.before ? known.before : known.manifest;
  if (wanted) return *wanted;
  return Error{
      ErrorCode::not_found,
      "the home knows no manifest that " + known.place + (options.before ? " named before" : " names"),
      "pull it, or name one with `PinOptions::manifest`"};
}

struct PinnedChannel {
  ServerReference reference;
  std::shared_ptr<Home> home;
  KnownChannel known;
};

Result<PinnedChannel> open_channel(const SessionOptions& session, const std::string& reference) {
  PinnedChannel opened;
  CUBINET_TRY_ASSIGN(opened.reference, parse_channel(reference));
  CUBINET_TRY_ASSIGN(opened.home, open_home(session, HomeOptions::Access::read_write));
  CUBINET_TRY_ASSIGN(opened.known, opened.home->downloads().channel(opened.reference.to_full_string()));
  return opened;
}

Result<PinResult> change_pin(const PinnedChannel& opened, const std::optional<Sha256Digest>& pinned) {
  CUBINET_TRY(opened.home->downloads().change(opened.known.place,
                                              [&](KnownChannel& channel) { channel.pinned = pinned; }));
  PinResult result{opened.known.place};
  if (pinned) result.pinned = pinned->to_hex();
  return result;
}

// Returns a bundle of a channel without contacting the server.
KnownBundle bundle_in_home(const SessionOptions& session, const std::shared_ptr<Home>& home,
                           const std::string& place, const std::optional<Sha256Digest>& manifest) {
  if (!manifest) return {};
  KnownBundle bundle{manifest->to_hex()};
  const auto reference = ServerReference::parse(place);
  if (!reference) return bundle;
  const auto servers = open_servers(session.access, {*reference});
  if (!servers) return bundle;
  const auto kept =
      std::make_shared<KeptServer>(servers->server, KeptServerOptions{.home = home, .local_only = true});
  const auto root = Channel({*reference, kept, home, {}, session.log}).root({*manifest});
  if (root) bundle.version = root->options.version;
  return bundle;
}

void describe_bundle(nlohmann::json& described, const std::string& name, const KnownBundle& bundle) {
  described[name] = bundle.manifest ? nlohmann::json(*bundle.manifest) : nlohmann::json(nullptr);
  described[name + "_version"] = bundle.version ? nlohmann::json(*bundle.version) : nlohmann::json(nullptr);
}

}  // namespace

Result<PinResult> pin_channel(const SessionOptions& session, const PinOptions& options) {
  CUBINET_TRY_ASSIGN(const PinnedChannel opened, open_channel(session, options.reference));
  CUBINET_TRY_ASSIGN(const Sha256Digest manifest,
                     manifest_to_pin(session, options, opened.reference, opened.known, opened.home));
  return change_pin(opened, manifest);
}

Result<PinResult> unpin_channel(const SessionOptions& session, const std::string& reference) {
  CUBINET_TRY_ASSIGN(const PinnedChannel opened, open_channel(session, reference));
  if (!opened.known.pinned) return Error{ErrorCode::not_found, opened.known.place + " is not pinned"};
  return change_pin(opened, std::nullopt);
}

std::string to_json(const PinResult& result) {
  return json_text({{"reference", result.reference},
                    {"pinned", result.pinned ? nlohmann::json(*result.pinned) : nlohmann::json(nullptr)}});
}

Result<ChannelList> list_channels(const SessionOptions& session) {
  ChannelList list;
  std::error_code unknown;
  if (session.home.empty() || !std::filesystem::exists(session.home, unknown)) return list;
  CUBINET_TRY_ASSIGN(const std::shared_ptr<Home> home, open_home(session, HomeOptions::Access::read_only));
  CUBINET_TRY_ASSIGN(const auto channels, home->downloads().channels());
  for (const KnownChannel& known : channels) {
    if (!known.manifest && !known.pinned) continue;
    list.channels.push_back({known.place, bundle_in_home(session, home, known.place, known.pinned),
                             bundle_in_home(session, home, known.place, known.manifest),
                             bundle_in_home(session, home, known.place, known.before), known.asked});
  }
  return list;
}

std::string to_json(const ChannelList& list) {
  nlohmann::json described = nlohmann::json::array();
  for (const KnownChannelState& channel : list.channels) {
    nlohmann::json one = {{"reference", channel.reference}, {"asked", channel.asked}};
    describe_bundle(one, "pinned", channel.pinned);
    describe_bundle(one, "manifest", channel.named);
    describe_bundle(one, "before", channel.before);
    described.push_back(std::move(one));
  }
  return json_text({{"channels", std::move(described)}});
}

}  // namespace cubinet
