// SPDX-License-Identifier: Apache-2.0
#include <cubinet/distribution/channel.hpp>
#include <cubinet/distribution/kept_server.hpp>

#include <chrono>

namespace cubinet {

Channel::Channel(ChannelOptions options)
    : options_(std::move(options)), place_(options_.reference.to_full_string()) {}

Result<KnownChannel> Channel::known() const {
  if (options_.home == nullptr) return KnownChannel{place_};
  return options_.home->downloads().channel(place_);
}

Result<ChannelManifest> Channel::newest() const {
  CUBINET_TRY_ASSIGN(const Sha256Digest digest,
                     resolve_channel(*options_.server, options_.reference.channel));
  return ChannelManifest{digest};
}

Result<ChannelManifest> Channel::current() const {
  if (options_.reference.digest) return ChannelManifest{*options_.reference.digest};
  CUBINET_TRY_ASSIGN(const KnownChannel known, this->known());
  if (known.pinned) return ChannelManifest{*known.pinned, true};
  return newest();
}

Result<ChannelBundle> Channel::open_as(const ChannelManifest& manifest, const ChannelUse& use,
                                       std::optional<TrustPolicy> policy) const {
  ChannelBundle opened;
  opened.manifest = manifest;
  CUBINET_TRY_ASSIGN(opened.remote, read_remote_bundle(*options_.server, manifest.digest));
  opened.source = remote_source(options_.server, opened.remote);
  BundleTrust trust{std::move(policy), signatures_of(opened.remote), use.expiry, options_.files,
                    use.remembers_version};
  if (!options_.reference.digest) trust.channel = options_.reference.channel;
  CUBINET_TRY_ASSIGN(opened.bundle, open_bundle(opened.source, options_.log, std::move(trust)));
  return opened;
}

Result<ChannelBundle> Channel::open(const ChannelManifest& manifest, const ChannelUse& use) const {
  std::optional<TrustPolicy> policy = options_.policy;
  if (policy && manifest.pinned) policy->refuse_older = false;
  auto opened = open_as(manifest, use, policy);
  if (opened) return opened;
  Error error = std::move(opened).error();
  if (manifest.pinned) {
    error.message = place_ + " is pinned to sha256:" + manifest.digest.to_hex() + ": " + error.message;
    error.remedy +=
        (error.remedy.empty() ? "" : "; ") + std::string("`unpin_channel()` follows the channel again");
  } else if (error.code == ErrorCode::untrusted && policy && policy->refuse_older &&
             !options_.reference.digest) {
    // A pin helps if only the version is refused.
    policy->refuse_older = false;
    if (open_as(manifest, {use.expiry, false}, policy))
      error.remedy =
          "get a newer one; to use this one, pin it: `pin_channel()` with `PinOptions::manifest` sha256:" +
          manifest.digest.to_hex();
  }
  return error;
}

Result<BundleRoot> Channel::root(const ChannelManifest& manifest) const {
  CUBINET_TRY_ASSIGN(const ChannelBundle opened, open(manifest, {Expiry::reported, false}));
  return opened.bundle->root();
}

std::optional<std::uint64_t> Channel::newer_before(const ChannelBundle& opened) const {
  if (options_.home == nullptr || options_.reference.digest || opened.manifest.pinned) return std::nullopt;
  const auto known = this->known();
  if (!known || !known->manifest || *known->manifest == opened.manifest.digest) return std::nullopt;
  const auto kept = std::make_shared<KeptServer>(
      options_.server, KeptServerOptions{.home = options_.home, .local_only = true});
  const auto before = Channel({options_.reference, kept, options_.home}).root({*known->manifest});
  const std::uint64_t version = opened.bundle->root().options.version;
  if (!before || before->options.version <= version) return std::nullopt;
  log(options_.log, LogLevel::warning,
      place_ + " has gone back: it names version " + std::to_string(version) + " now, and named version " +
          std::to_string(before->options.version) + " before");
  return before->options.version;
}

void Channel::remember(const ChannelManifest& manifest) const {
  if (options_.home == nullptr || !options_.home->description().writable) return;
  if (options_.reference.digest || manifest.pinned) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto remembered = options_.home->downloads().change(place_, [&](KnownChannel& known) {
    known.answered(manifest.digest, std::chrono::duration_cast<std::chrono::seconds>(now).count());
  });
  if (!remembered)
    log(options_.log, LogLevel::warning,
        "the home does not remember what " + place_ + " names: " + remembered.error().to_line());
}

Result<void> Channel::prefer(const ChannelManifest& manifest, const CubinRecords& builds) const {
  if (options_.home == nullptr || !manifest.pinned) return {};
  return options_.home->downloads().prefer(place_, manifest.digest, builds);
}

}  // namespace cubinet
