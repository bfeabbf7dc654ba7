// SPDX-License-Identifier: Apache-2.0
#include "local/pinned_builds.hpp"

#include "local/known_channel.hpp"

#include <cubinet/base/binary_format.hpp>

#include <algorithm>
#include <chrono>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

constexpr BinaryFormat kPinnedFormat{"a list of pinned builds", "CPIN"};
constexpr std::string_view kSuffix = ".builds";
constexpr std::size_t kBuildDigestBytes = 32;

// Returns the builds of one file if the channel is pinned to their bundle, none otherwise.
Result<std::vector<Sha256Digest>> pinned_in(const FileStore& store, const std::string& name) {
  const fs::path file = store.home().channels() / name;
  const std::string stem = name.substr(0, name.size() - kSuffix.size());
  const auto known =
      store.files().read_own(store.home().channels() / (stem + ".channel"), kMaximumChannelBytes);
  if (!known && known.error().code == ErrorCode::not_found) return std::vector<Sha256Digest>();
  if (!known) return known.error();
  CUBINET_TRY_ASSIGN(const KnownChannel channel, decode_channel(known->content));
  if (!channel.pinned) return std::vector<Sha256Digest>();
  CUBINET_TRY_ASSIGN(const OwnFile read, store.files().read_own(file, kMaximumPinnedBytes));
  CUBINET_TRY_ASSIGN(PinnedBuilds pinned, decode_pinned_builds(read.content));
  if (pinned.place != channel.place) return Error{ErrorCode::corruption, "it names another channel"};
  return pinned.manifest == *channel.pinned ? std::move(pinned.builds) : std::vector<Sha256Digest>();
}

}  // namespace

Bytes encode_pinned_builds(const PinnedBuilds& pinned) {
  ByteWriter writer;
  kPinnedFormat.write_head(writer);
  writer.string(pinned.place);
  writer.raw(pinned.manifest.bytes);
  writer.u32(static_cast<std::uint32_t>(pinned.builds.size()));
  for (const Sha256Digest& build : pinned.builds)
    writer.raw(build.bytes);
  write_checksum(writer);
  return writer.take();
}

Result<PinnedBuilds> decode_pinned_builds(ByteView bytes) {
  CUBINET_TRY_ASSIGN(auto fields, kPinnedFormat.read_checked(bytes));
  ByteReader& reader = fields.reader;
  PinnedBuilds pinned;
  CUBINET_TRY_ASSIGN(pinned.place, reader.string());
  CUBINET_TRY_ASSIGN(pinned.manifest, read_digest(reader));
  CUBINET_TRY_ASSIGN(const std::uint32_t count, reader.u32());
  if (reader.remaining() != std::uint64_t{count} * kBuildDigestBytes)
    return kPinnedFormat.damaged("has another length than its count states");
  pinned.builds.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    CUBINET_TRY_ASSIGN(const Sha256Digest build, read_digest(reader));
    if (!pinned.builds.empty() && build <= pinned.builds.back())
      return kPinnedFormat.damaged("is not in order");
    pinned.builds.push_back(build);
  }
  return pinned;
}

Sha256Digest build_digest(const CubinRecord& record) {
  ByteWriter writer;
  writer.string(as_text(record.identity.encoding()));
  writer.u8(static_cast<std::uint8_t>(record.kind));
  writer.raw(record.fingerprint.digest.bytes);
  return sha256(writer.take());
}

std::shared_ptr<const PreferredBuilds::Builds> PreferredBuilds::read(const Listing& listing) const {
  auto builds = std::make_shared<Builds>();
  for (const std::string& name : listing.names) {
    if (!name.ends_with(kSuffix)) continue;
    const auto pinned = pinned_in(store_, name);
    if (pinned) {
      builds->insert(builds->end(), pinned->begin(), pinned->end());
    } else {
      log(store_.log_sink(), LogLevel::warning,
          "the pin of '" + (store_.home().channels() / name).string() +
              "' has no effect: " + pinned.error().to_line());
    }
  }
  std::sort(builds->begin(), builds->end());
  return builds;
}

std::shared_ptr<const PreferredBuilds::Builds> PreferredBuilds::refresh() {
  const std::lock_guard lock(mutex_);
  if (stamp_.settled) {
    const auto status = store_.files().status(store_.home().channels());
    if (status && *status && stamp_.still_is(**status)) return builds_;
  }
  const auto now = std::chrono::system_clock::now();
  const auto listing = store_.files().list(store_.home().channels());
  stamp_ = listing ? FolderStamp::of(listing->status, now) : FolderStamp{};
  if (!listing && listing.error().code != ErrorCode::not_found)
    log(store_.log_sink(), LogLevel::warning, "pins have no effect: " + listing.error().to_line());
  auto builds = listing ? read(*listing) : std::make_shared<const Builds>();
  if (*builds != *builds_) builds_ = std::move(builds);
  return builds_;
}

bool PreferredBuilds::contains(const CubinRecord& record) const {
  if (record.origin != CubinOrigin::bundle) return false;
  std::shared_ptr<const Builds> builds;
  {
    const std::lock_guard lock(mutex_);
    builds = builds_;
  }
  return !builds->empty() && std::binary_search(builds->begin(), builds->end(), build_digest(record));
}

}  // namespace cubinet
