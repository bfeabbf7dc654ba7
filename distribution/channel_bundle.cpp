// SPDX-License-Identifier: Apache-2.0
#include "channel_bundle.hpp"

#include <cubinet/base/stopwatch.hpp>
#include <cubinet/cubin_registry/byte_source.hpp>
#include <cubinet/cubin_registry/downloads.hpp>
#include <cubinet/distribution/bundle_transfer.hpp>
#include <cubinet/distribution/kept_server.hpp>

#include <chrono>

namespace cubinet {
namespace {

std::int64_t seconds_since_epoch() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

class ChannelBundle {
 public:
  ChannelBundle(const ServerStoreOptions& options, std::shared_ptr<ContentServer> server)
      : options_(options), server_(std::move(server)), place_(options.reference.to_full_string()) {}

  Result<std::shared_ptr<Bundle>> open() {
    if (options_.reference.digest) return open_manifest(*options_.reference.digest, options_.policy);
    CUBINET_TRY_ASSIGN(KnownChannel known, this->known());
    if (known.pinned) return open_pinned(*known.pinned);
    if (known.manifest && (is_local_only(options_) || is_fresh(known)))
      return open_manifest(*known.manifest, options_.policy);
    std::unique_ptr<BuildLock> lock;
    bool in_vain = false;
    if (options_.home != nullptr && !is_local_only(options_)) {
      const Stopwatch waited;
      lock = options_.home->downloads().lock(sha256(as_bytes(place_)), options_.patience);
      in_vain = is_in_vain(waited.seconds(), options_.patience);
      // Who had the lock before has asked.
      CUBINET_TRY_ASSIGN(known, this->known());
      if (known.manifest && is_fresh(known)) return open_manifest(*known.manifest, options_.policy);
    }
    auto opened = in_vain ? Result<std::shared_ptr<Bundle>>(not_asked()) : open_newest();
    if (opened || !known.manifest) return opened;
    log(options_.log, LogLevel::warning,
        place_ + ": what was there before is used, sha256:" + known.manifest->to_hex() + ": " +
            opened.error().to_line());
    return open_manifest(*known.manifest, options_.policy);
  }

 private:
  Result<KnownChannel> known() const {
    if (options_.home == nullptr) return KnownChannel{place_};
    return options_.home->downloads().channel(place_);
  }

  // A clock that was set back makes nothing fresh for years.
  bool is_fresh(const KnownChannel& known) const {
    const std::int64_t age = seconds_since_epoch() - known.asked;
    return age >= 0 && age < options_.fresh.count();
  }

  Error not_asked() const {
    return {ErrorCode::unavailable,
            place_ + " is not asked: another process has waited for its answer for so long, and has none",
            "it is asked again by itself"};
  }

  Result<std::shared_ptr<Bundle>> open_newest() {
    CUBINET_TRY_ASSIGN(const Sha256Digest manifest, resolve_channel(*server_, options_.reference.channel));
    CUBINET_TRY_ASSIGN(auto bundle, open_manifest(manifest, options_.policy));
    if (options_.home != nullptr && options_.home->description().writable) remember(manifest);
    return bundle;
  }

  void remember(const Sha256Digest& manifest) {
    const auto remembered = options_.home->downloads().change(
        place_, [&](KnownChannel& channel) { channel.answered(manifest, seconds_since_epoch()); });
    if (!remembered)
      log(options_.log, LogLevel::warning,
          place_ + " is asked again by the next process: " + remembered.error().to_line());
  }

  // Who pins a version goes back to it knowingly: it may be older than what was seen, never less signed.
  Result<std::shared_ptr<Bundle>> open_pinned(const Sha256Digest& manifest) {
    std::optional<TrustPolicy> policy = options_.policy;
    if (policy) policy->refuse_older = false;
    return open_manifest(manifest, policy);
  }

  Result<std::shared_ptr<Bundle>> open_manifest(const Sha256Digest& manifest,
                                                const std::optional<TrustPolicy>& policy) {
    CUBINET_TRY_ASSIGN(RemoteBundle remote, read_remote_bundle(*server_, manifest));
    const Expiry expiry = is_local_only(options_) ? Expiry::reported : Expiry::enforced;
    SignatureSource signatures = signatures_of(remote);
    return open_bundle(remote_source(server_, std::move(remote)), options_.log,
                       {policy, std::move(signatures), expiry, options_.files});
  }

  const ServerStoreOptions& options_;
  const std::shared_ptr<ContentServer> server_;
  const std::string place_;
};

}  // namespace

bool is_local_only(const ServerStoreOptions& options) {
  // A folder is no server: nothing is asked over a network.
  return options.reference.layout != ServerReference::Layout::folder &&
         (options.offline || (options.policy && options.policy->local_only));
}

Result<std::shared_ptr<Bundle>> open_channel_bundle(const ServerStoreOptions& options,
                                                    const std::shared_ptr<ContentServer>& server) {
  return ChannelBundle(options, server).open();
}

}  // namespace cubinet
