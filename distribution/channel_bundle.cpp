// SPDX-License-Identifier: Apache-2.0
#include "channel_bundle.hpp"

#include <cubinet/base/stopwatch.hpp>
#include <cubinet/distribution/channel.hpp>
#include <cubinet/distribution/kept_server.hpp>

#include <chrono>

namespace cubinet {
namespace {

// Opens the bundle of a server store, and falls back to the bundle that was used before.
class StoreBundle {
 public:
  StoreBundle(const ServerStoreOptions& options, const std::shared_ptr<ContentServer>& server)
      : options_(options),
        channel_({options.reference, server, options.home, options.policy, options.log, options.files}) {}

  Result<ChannelBundle> open() const {
    if (options_.reference.digest) return open({*options_.reference.digest});
    CUBINET_TRY_ASSIGN(KnownChannel known, channel_.known());
    if (known.pinned) return open({*known.pinned, true});
    if (known.manifest && (is_local_only(options_) || is_fresh(known))) return open({*known.manifest});
    std::unique_ptr<BuildLock> lock;
    bool in_vain = false;
    if (options_.home != nullptr && !is_local_only(options_)) {
      const Stopwatch waited;
      lock = options_.home->downloads().lock(sha256(as_bytes(channel_.place())), options_.patience);
      in_vain = is_in_vain(waited.seconds(), options_.patience);
      // The previous holder of the lock may have queried the server.
      CUBINET_TRY_ASSIGN(known, channel_.known());
      if (known.manifest && is_fresh(known)) return open({*known.manifest});
    }
    auto opened = in_vain ? Result<ChannelBundle>(not_asked()) : open_newest();
    if (opened || !known.manifest) return opened;
    log(options_.log, LogLevel::warning,
        channel_.place() + ": the kept version is used, sha256:" + known.manifest->to_hex() + ": " +
            opened.error().to_line());
    return open({*known.manifest});
  }

 private:
  // Returns whether the answer is recent. A time in the future is not: the clock may have been set
  // back.
  bool is_fresh(const KnownChannel& known) const {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(now).count() - known.asked;
    return age >= 0 && age < options_.fresh.count();
  }

  Error not_asked() const {
    return {ErrorCode::unavailable,
            channel_.place() +
                " is not asked: another process has waited for its answer for so long, and has none",
            "it is asked again by itself"};
  }

  Result<ChannelBundle> open_newest() const {
    CUBINET_TRY_ASSIGN(const ChannelManifest manifest, channel_.newest());
    CUBINET_TRY_ASSIGN(ChannelBundle opened, open(manifest));
    static_cast<void>(channel_.newer_before(opened));
    channel_.remember(manifest);
    return opened;
  }

  Result<ChannelBundle> open(const ChannelManifest& manifest) const {
    const Expiry expiry = is_local_only(options_) ? Expiry::reported : Expiry::enforced;
    return channel_.open(manifest, {expiry});
  }

  const ServerStoreOptions& options_;
  const Channel channel_;
};

}  // namespace

bool is_local_only(const ServerStoreOptions& options) {
  // A folder is not contacted over a network.
  return options.reference.layout != ServerReference::Layout::folder &&
         (options.offline || (options.policy && options.policy->local_only));
}

Result<ChannelBundle> open_channel_bundle(const ServerStoreOptions& options,
                                          const std::shared_ptr<ContentServer>& server) {
  return StoreBundle(options, server).open();
}

}  // namespace cubinet
