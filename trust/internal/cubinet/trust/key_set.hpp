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

// A set of keys that replaces an earlier one: docs/formats/key_set.md. Each set is signed by the
// threshold of its predecessor's keys and by the threshold of its own.
struct KeySet {
  std::uint64_t version = 0;
  std::uint32_t threshold = 0;
  std::vector<PublicKey> keys;  // distinct

  // Returns the policy for content that these keys sign.
  TrustPolicy policy(std::string origin) const;
};

inline constexpr std::size_t kMaximumKeySetBytes = 65'536;

// Parses a set's text. Returns invalid_argument if it is malformed. Pure.
Result<KeySet> parse_key_set(std::string_view text);

// Return the locations in a home of its key set and of the versions seen.
std::filesystem::path key_set_path(const std::filesystem::path& home);
std::filesystem::path versions_seen_path(const std::filesystem::path& home);

// Returns nullopt if the home has no key set. Returns corruption or untrusted if the set cannot be
// relied on.
Result<std::optional<KeySet>> read_key_set(FileSystem& files, const std::filesystem::path& home);

// Replaces the home's set with the next set, and returns it. Leaves an identical set unchanged.
// Returns untrusted if too few keys have signed the set, if it is older than the home's, or if it
// is not the direct successor. `first` installs a set in a home without one, and returns
// invalid_argument if the home has another set. `next` returns not_found if the home has none.
enum class KeySetTurn { next, first };
Result<KeySet> update_key_set(FileSystem& files, const std::filesystem::path& home, const std::string& what,
                              ByteView text, const SignatureSource& signatures, KeySetTurn turn);

}  // namespace cubinet
