// SPDX-License-Identifier: Apache-2.0
#include "versions_seen.hpp"

#include <cubinet/base/binary_format.hpp>
#include <cubinet/base/sha256_hasher.hpp>
#include <cubinet/base/text.hpp>

#include <algorithm>
#include <charconv>

namespace cubinet {
namespace {

// The format is docs/formats/versions_seen.md.
constexpr BinaryFormat kSeenFormat{"a version seen", "CSEE"};
constexpr std::size_t kMaximumSeenBytes = 65'536;
constexpr std::string_view kSuffix = ".seen";
constexpr std::size_t kVersionDigits = 20;

std::string prefix_of(const std::string& channel, const PublicKey& key) {
  Sha256Hasher hasher;
  hasher.field("channel", channel);
  hasher.field("key", as_text(key.point()));
  return hasher.finish().to_hex().substr(0, 32) + "-";
}

std::string name_of(const std::string& prefix, std::uint64_t version) {
  const std::string digits = std::to_string(version);
  return prefix + std::string(kVersionDigits - digits.size(), '0') + digits + std::string(kSuffix);
}

Bytes encode(const std::string& channel, const PublicKey& key, std::uint64_t version) {
  ByteWriter writer;
  kSeenFormat.write_head(writer);
  writer.string(channel);
  writer.raw(key.point());
  writer.u64(version);
  write_checksum(writer);
  return writer.take();
}

}  // namespace

Result<std::vector<std::uint64_t>> VersionsSeen::versions(const std::string& prefix) const {
  std::vector<std::uint64_t> found;
  const auto listing = files_.list(folder_);
  if (!listing) {
    if (listing.error().code == ErrorCode::not_found) return found;
    return listing.error();
  }
  if (const char* reason = why_not_trusted(listing->status))
    return Error{ErrorCode::untrusted, "'" + folder_.string() + "' " + reason};
  for (const std::string& name : listing->names) {
    if (!name.starts_with(prefix) || name.size() != prefix.size() + kVersionDigits + kSuffix.size()) continue;
    const char* digits = name.data() + prefix.size();
    std::uint64_t version = 0;
    if (std::from_chars(digits, digits + kVersionDigits, version).ec != std::errc()) continue;
    if (name == name_of(prefix, version)) found.push_back(version);
  }
  return found;
}

Result<std::optional<std::uint64_t>> VersionsSeen::newest_of(const std::string& channel,
                                                             const PublicKey& key) const {
  const std::string prefix = prefix_of(channel, key);
  // Each attempt fails only if another process has stored a higher version.
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    CUBINET_TRY_ASSIGN(const auto there, versions(prefix));
    if (there.empty()) return std::optional<std::uint64_t>();
    const auto path = folder_ / name_of(prefix, there.back());
    const auto file = files_.read_own(path, kMaximumSeenBytes);
    if (!file && file.error().code == ErrorCode::not_found) continue;
    if (!file) return file.error();
    if (file->content == encode(channel, key, there.back()))
      return std::optional<std::uint64_t>(there.back());
    Error damaged = kSeenFormat.damaged("is damaged: '" + path.string() + "'");
    damaged.remedy = "remove it when you know which version is the newest";
    return damaged;
  }
  return Error{ErrorCode::busy, "'" + folder_.string() + "' changes all the time"};
}

Result<std::optional<VersionsSeen::Seen>> VersionsSeen::newest(const std::string& channel,
                                                               const std::vector<PublicKey>& keys) const {
  std::optional<Seen> newest;
  for (const PublicKey& key : keys) {
    CUBINET_TRY_ASSIGN(const auto version, newest_of(channel, key));
    if (version && (!newest || *version > newest->version)) newest = Seen{*version, key.id()};
  }
  return newest;
}

Result<void> VersionsSeen::remember(const std::string& channel, const PublicKey& key,
                                    std::uint64_t version) const {
  const std::string prefix = prefix_of(channel, key);
  {
    CUBINET_TRY_ASSIGN(const auto there, versions(prefix));
    if (!there.empty() && there.back() >= version) return {};
  }
  CUBINET_TRY(files_.create_directories(folder_, FileSystem::Mode::shared));
  CUBINET_TRY(
      write_file_atomically(files_, folder_ / name_of(prefix, version), encode(channel, key, version)));
  CUBINET_TRY_ASSIGN(const auto there, versions(prefix));
  for (const std::uint64_t older : there) {
    if (older == there.back()) break;
    CUBINET_TRY(files_.remove(folder_ / name_of(prefix, older)));
  }
  return {};
}

}  // namespace cubinet
