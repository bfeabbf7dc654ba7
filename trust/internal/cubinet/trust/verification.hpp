// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/callback.hpp>
#include <cubinet/base/file_system.hpp>
#include <cubinet/base/log.hpp>
#include <cubinet/trust/trust_policy.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// A function that returns the signature file of the key with this id, or nullopt if there is none.
// It is called for trusted keys only.
using SignatureSource = Callback<Result<std::optional<Bytes>>(const std::string& key_id)>;

// Returns `<path>.<id>.minisig`.
std::filesystem::path signature_path(const std::filesystem::path& path, std::string_view key_id);
SignatureSource signatures_beside(std::shared_ptr<FileSystem> files, std::filesystem::path path);

struct SignatureReport {
  std::vector<Signer> signers;  // each key once, in the policy's order
  // One line with the reason for each trusted key that has not signed.
  std::vector<std::string> refused;
};

// Determines which of the policy's keys have signed these bytes. Signatures are verified before the
// content is parsed. Returns untrusted if fewer keys have signed than the policy requires, and the
// source's error if it fails. `what` names the bytes in messages.
Result<SignatureReport> verify_signatures(const TrustPolicy& policy, const std::string& what, ByteView bytes,
                                          const SignatureSource& source);

// The statements that verified bytes make about themselves.
struct SignedRelease {
  std::string channel;
  std::uint64_t version = 0;
  std::uint64_t expires = 0;  // seconds since 1970; 0: never
};
// The treatment of an expired release. A server could hold a newer release, so expiry is enforced.
// A file may have been carried to a machine with a wrong clock, so expiry is only reported.
enum class Expiry { enforced, reported };

// Checks whether a release that these signers have signed may be used now: its version, the
// versions seen before, its expiry. Stores its version, unless `remember` is false. An untrusted
// error names both versions. Logs a warning if the version cannot be stored.
Result<void> admit(const TrustPolicy& policy, const std::string& what, const SignedRelease& release,
                   const std::vector<Signer>& signers, FileSystem& files, Expiry expiry,
                   std::uint64_t seconds_since_1970, const LogSink& log, bool remember = true);

}  // namespace cubinet
