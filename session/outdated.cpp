// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/distribution/channel.hpp>
#include <cubinet/distribution/kept_server.hpp>
#include <cubinet/session/json.hpp>
#include <cubinet/session/open_stores.hpp>
#include <cubinet/session/outdated.hpp>
#include <cubinet/session/server_policy.hpp>
#include <cubinet/session/servers.hpp>

#include <algorithm>
#include <filesystem>

namespace cubinet {
namespace {

// Opens the home if there is one. A home without write access is compared too, but nothing is kept
// in it.
Result<std::shared_ptr<Home>> open_home_to_compare(const SessionOptions& session) {
  std::error_code unknown;
  if (session.home.empty() || !std::filesystem::exists(session.home, unknown)) return std::shared_ptr<Home>();
  auto opened = open_home(session, HomeOptions::Access::read_write);
  if (!opened && opened.error().code != ErrorCode::untrusted)
    opened = open_home(session, HomeOptions::Access::read_only);
  return opened;
}

Result<std::vector<KnownChannel>> channels_to_compare(const OutdatedOptions& options, Home* home) {
  std::vector<KnownChannel> channels;
  for (const std::string& text : options.references) {
    CUBINET_TRY_ASSIGN(const ServerReference reference, parse_channel(text));
    const std::string place = reference.to_full_string();
    channels.push_back({place});
    if (home != nullptr) {
      CUBINET_TRY_ASSIGN(channels.back(), home->downloads().channel(place));
    }
  }
  if (!options.references.empty() || home == nullptr) return channels;
  CUBINET_TRY_ASSIGN(channels, home->downloads().channels());
  // A manifest never changes, and a build cache has no versions.
  std::erase_if(channels, [](const KnownChannel& known) {
    const auto reference = ServerReference::parse(known.place);
    return reference && (reference->digest || reference->channel.empty());
  });
  return channels;
}

Result<void> compare_channel(const SessionOptions& session, const std::shared_ptr<Home>& home,
                             const KnownChannel& known, Comparison& compared) {
  CUBINET_TRY_ASSIGN(const ServerReference reference, ServerReference::parse(known.place));
  CUBINET_TRY_ASSIGN(const auto policy, policy_of(session, reference));
  CUBINET_TRY_ASSIGN(const auto servers, open_servers(session.access, {reference}));
  const auto used = known.pinned ? known.pinned : known.manifest;
  compared.pinned = known.pinned.has_value();
  if (used) {
    const auto kept =
        std::make_shared<KeptServer>(servers.server, KeptServerOptions{.home = home, .local_only = true});
    if (const auto root = Channel({reference, kept, home, {}, session.log}).root({*used}))
      compared.here = root->options.version;
  }
  const bool local_only = policy && policy->local_only && reference.layout != ServerReference::Layout::folder;
  const auto server = std::make_shared<KeptServer>(
      servers.server, KeptServerOptions{.home = home, .local_only = local_only, .log = session.log});
  const Channel channel({reference, server, home, policy, session.log});
  CUBINET_TRY_ASSIGN(const ChannelManifest newest, channel.newest());
  compared.same = used == newest.digest;
  CUBINET_TRY_ASSIGN(const BundleRoot root, channel.root(newest));
  compared.there = root.options.version;
  compared.channel = root.options.channel;
  return {};
}

// Compares a file with a channel: the newest one, among these, whose name the file's root states.
Result<Comparison> compare_file(const SessionOptions& session, const std::string& file,
                                const std::vector<Comparison>& channels) {
  CUBINET_TRY_ASSIGN(const auto bundle, open_bundle_file(session, file));
  const BundleOptions& stated = bundle->root().options;
  Comparison compared;
  compared.what = file;
  compared.here = stated.version;
  for (const Comparison& channel : channels) {
    if (!channel.there || channel.channel != stated.channel) continue;
    if (!compared.there || *channel.there > *compared.there) compared.there = channel.there;
  }
  if (!compared.there)
    compared.error =
        Error{ErrorCode::not_found, "no server here has its channel '" + printable(stated.channel) + "'",
              "name the server as a reference"};
  compared.same = compared.there && *compared.there <= stated.version;
  return compared;
}

nlohmann::json describe_comparison(const Comparison& compared) {
  const auto number = [](const std::optional<std::uint64_t>& version) {
    return version ? nlohmann::json(*version) : nlohmann::json(nullptr);
  };
  nlohmann::json described = {{"what", compared.what},
                              {"here", number(compared.here)},
                              {"there", number(compared.there)},
                              {"outdated", compared.outdated()},
                              {"pinned", compared.pinned}};
  if (compared.error) described.update(error_document(*compared.error));
  return described;
}

}  // namespace

bool OutdatedResult::current() const {
  return std::none_of(results.begin(), results.end(),
                      [](const Comparison& each) { return each.outdated() || each.error; });
}

Result<OutdatedResult> outdated(const SessionOptions& session, const OutdatedOptions& options) {
  CUBINET_TRY_ASSIGN(const std::shared_ptr<Home> home, open_home_to_compare(session));
  CUBINET_TRY_ASSIGN(const auto channels, channels_to_compare(options, home.get()));
  std::vector<Comparison> compared;
  for (const KnownChannel& known : channels) {
    Comparison one;
    one.what = known.place;
    if (auto answered = compare_channel(session, home, known, one); !answered)
      one.error = std::move(answered).error();
    compared.push_back(std::move(one));
  }
  OutdatedResult result{compared};
  for (const std::string& file : options.bundles) {
    CUBINET_TRY_ASSIGN(result.results.emplace_back(), compare_file(session, file, compared));
  }
  return result;
}

std::string to_json(const OutdatedResult& result) {
  nlohmann::json described = nlohmann::json::array();
  for (const Comparison& compared : result.results)
    described.push_back(describe_comparison(compared));
  return json_text({{"results", std::move(described)}});
}

}  // namespace cubinet
