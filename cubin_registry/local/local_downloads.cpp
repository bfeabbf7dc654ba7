// SPDX-License-Identifier: Apache-2.0
#include "local/local_downloads.hpp"

#include "local/known_channel.hpp"
#include "local/pinned_builds.hpp"

#include <algorithm>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

// The limit for the lock of a channel's state, whose changes are short.
constexpr std::chrono::seconds kChannelLockLimit{5};

class HeldLock final : public BuildLock {
 public:
  explicit HeldLock(std::unique_ptr<FileLock> lock) : lock_(std::move(lock)) {}

 private:
  std::unique_ptr<FileLock> lock_;
};

Sha256Digest digest_of_place(const std::string& place) {
  return sha256(as_bytes(place));
}

}  // namespace

std::unique_ptr<BuildLock> hold(std::unique_ptr<FileLock> lock) {
  return std::make_unique<HeldLock>(std::move(lock));
}

Result<std::optional<Bytes>> LocalDownloads::find(const Sha256Digest& digest, std::uint64_t limit) {
  CUBINET_TRY(access_.check_process());
  const fs::path file = store_.home().download(digest);
  auto bytes = store_.files().read(file, limit);
  if (!bytes && bytes.error().code == ErrorCode::not_found) return std::optional<Bytes>();
  if (bytes && sha256(*bytes) == digest) return std::optional(*std::move(bytes));
  if (!bytes && bytes.error().code != ErrorCode::invalid_argument) return std::move(bytes).error();
  log(store_.log_sink(), LogLevel::warning,
      "a download is fetched again: '" + file.string() + "' is damaged");
  if (access_.writable()) (void)store_.files().remove(file).has_value();
  return std::optional<Bytes>();
}

Result<bool> LocalDownloads::has(const Sha256Digest& digest, std::uint64_t size) {
  CUBINET_TRY(access_.check_process());
  CUBINET_TRY_ASSIGN(const auto status, store_.files().status(store_.home().download(digest)));
  return status && status->type == FileStatus::Type::regular && status->size == size;
}

Result<void> LocalDownloads::forget(const Sha256Digest& digest) {
  CUBINET_TRY(access_.check_writable());
  CUBINET_TRY(store_.files().remove(store_.home().download(digest)));
  return {};
}

Result<void> LocalDownloads::keep(const Sha256Digest& digest, ByteView bytes) {
  CUBINET_TRY(access_.check_writable());
  const fs::path file = store_.home().download(digest);
  return store_.put(file, [&] { return write_file_atomically(store_.files(), file, bytes); });
}

std::unique_ptr<BuildLock> LocalDownloads::lock(const Sha256Digest& what, std::chrono::milliseconds limit) {
  if (!access_.check_writable()) return nullptr;
  auto lock = lock_within(store_.files(), store_.home().download_lock(what), FileSystem::Sharing::exclusive,
                          limit, store_.log_sink());
  if (!lock)
    log(store_.log_sink(), LogLevel::warning, "fetching without the lock: " + lock.error().to_line());
  return lock && *lock ? hold(*std::move(lock)) : nullptr;
}

// Not the lock of a download: a process that queries the server changes the state meanwhile.
Result<std::unique_ptr<FileLock>> LocalDownloads::lock_channel(const Sha256Digest& digest_of_place) {
  return lock_within(store_.files(), store_.home().channel_lock(digest_of_place),
                     FileSystem::Sharing::exclusive, kChannelLockLimit, store_.log_sink());
}

Result<KnownChannel> LocalDownloads::read_channel(const fs::path& file) const {
  CUBINET_TRY_ASSIGN(const OwnFile read, store_.files().read_own(file, kMaximumChannelBytes));
  auto channel = decode_channel(read.content);
  if (channel && file == store_.home().channel(digest_of_place(channel->place))) return channel;
  Error error = channel ? Error{ErrorCode::corruption, "it is of another place"} : std::move(channel).error();
  error.message = "'" + file.string() + "': " + error.message;
  error.remedy = "remove it: what a channel names is asked again, and a pin is to be made again";
  return error;
}

Result<KnownChannel> LocalDownloads::channel(const std::string& place) {
  CUBINET_TRY(access_.check_process());
  auto known = read_channel(store_.home().channel(digest_of_place(place)));
  if (!known && known.error().code == ErrorCode::not_found) return KnownChannel{place};
  return known;
}

Result<void> LocalDownloads::change(const std::string& place, const Callback<void(KnownChannel&)>& change) {
  CUBINET_TRY(access_.check_writable());
  const Sha256Digest digest = digest_of_place(place);
  const fs::path file = store_.home().channel(digest);
  CUBINET_TRY_ASSIGN(const auto lock, lock_channel(digest));
  CUBINET_TRY_ASSIGN(KnownChannel known, channel(place));
  const auto pinned = known.pinned;
  change(known);
  CUBINET_TRY(
      store_.put(file, [&] { return write_file_atomically(store_.files(), file, encode_channel(known)); }));
  if (pinned && pinned != known.pinned)
    CUBINET_TRY(store_.files().remove(store_.home().pinned_builds(digest)));
  return {};
}

Result<void> LocalDownloads::prefer(const std::string& place, const Sha256Digest& manifest,
                                    const CubinRecords& builds) {
  CUBINET_TRY(access_.check_writable());
  const Sha256Digest digest = digest_of_place(place);
  const fs::path file = store_.home().pinned_builds(digest);
  CUBINET_TRY_ASSIGN(const auto lock, lock_channel(digest));
  PinnedBuilds pinned{place, manifest, {}};
  if (const auto read = store_.files().read_own(file, kMaximumPinnedBytes)) {
    auto before = decode_pinned_builds(read->content);
    if (before && before->manifest == manifest) pinned.builds = std::move(before->builds);
  }
  for (const auto& build : builds)
    pinned.builds.push_back(build_digest(*build));
  std::sort(pinned.builds.begin(), pinned.builds.end());
  pinned.builds.erase(std::unique(pinned.builds.begin(), pinned.builds.end()), pinned.builds.end());
  const Bytes encoded = encode_pinned_builds(pinned);
  if (encoded.size() > kMaximumPinnedBytes)
    return Error{ErrorCode::invalid_argument,
                 "a pin cannot have " + std::to_string(pinned.builds.size()) + " builds of " + place,
                 "pull a part of the bundle"};
  return store_.put(file, [&] { return write_file_atomically(store_.files(), file, encoded); });
}

Result<std::vector<KnownChannel>> LocalDownloads::channels() {
  CUBINET_TRY(access_.check_process());
  std::vector<KnownChannel> all;
  CUBINET_TRY_ASSIGN(const auto names, store_.list_or_nothing(store_.home().channels()));
  for (const std::string& name : names) {
    if (!name.ends_with(".channel")) continue;
    CUBINET_TRY_ASSIGN(all.emplace_back(), read_channel(store_.home().channels() / name));
  }
  std::sort(all.begin(), all.end(),
            [](const KnownChannel& a, const KnownChannel& b) { return a.place < b.place; });
  return all;
}

}  // namespace cubinet
