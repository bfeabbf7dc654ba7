// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>
#include <cubinet/trust/trust_policy.hpp>
#include <cubinet/trust/verification.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace cubinet {

// Keys that replace each other: docs/formats/key_set.md. Each set is signed by as many keys of the one before
// it as that wants, and by as many of its own.
struct KeySet {
  std::uint64_t version = 0;
  std::uint32_t threshold = 0;
  std::vector<PublicKey> keys;  // distinct

  // Of what these keys sign.
  TrustPolicy policy(std::string origin) const;
};

inline constexpr std::size_t kMaximumKeySetBytes = 65'536;

// A set's text: invalid_argument. Pure.
Result<KeySet> parse_key_set(std::string_view text);

// Where a home keeps its set, and which versions were seen.
std::filesystem::path key_set_path(const std::filesystem::path& home);
std::filesystem::path versions_seen_path(const std::filesystem::path& home);

// nullopt: the home has none. corruption or untrusted where it cannot be relied on.
Result<std::optional<KeySet>> read_key_set(FileSystem& files, const std::filesystem::path& home);

// Puts the next set in the place of the home's, and gives it. The very set that is there is left as it is.
// untrusted: not signed by as many keys as have to, older than the home's, or not the one that follows it. A
// home without a set takes one where `first` says so, and takes no first one where it has a set
// (invalid_argument).
enum class KeySetTurn { next, first };
Result<KeySet> update_key_set(FileSystem& files, const std::filesystem::path& home, const std::string& what,
                              ByteView text, const SignatureSource& signatures, KeySetTurn turn);

}  // namespace cubinet
