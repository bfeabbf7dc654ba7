// SPDX-License-Identifier: Apache-2.0
#include <cubinet/distribution/channel.hpp>

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

Result<ChannelBundle> Channel::open(const ChannelManifest& manifest, const ChannelUse& use) const {
  std::optional<TrustPolicy> policy = options_.policy;
  if (policy && manifest.pinned) policy->refuse_older = false;
  ChannelBundle opened;
  opened.manifest = manifest;
  CUBINET_TRY_ASSIGN(opened.remote, read_remote_bundle(*options_.server, manifest.digest));
  opened.source = remote_source(options_.server, opened.remote);
  CUBINET_TRY_ASSIGN(opened.bundle, open_bundle(opened.source, options_.log,
                                                {std::move(policy), signatures_of(opened.remote), use.expiry,
                                                 options_.files, use.remembers_version}));
  return opened;
}

Result<BundleRoot> Channel::root(const ChannelManifest& manifest) const {
  CUBINET_TRY_ASSIGN(const ChannelBundle opened, open(manifest, {Expiry::reported, false}));
  return opened.bundle->root();
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
