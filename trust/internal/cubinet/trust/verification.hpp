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

// The file of a signature, by the id of the key that is to have made it: nullopt where there is none. It is
// asked for trusted keys alone.
using SignatureSource = Callback<Result<std::optional<Bytes>>(const std::string& key_id)>;

// `<path>.<id>.minisig`.
std::filesystem::path signature_path(const std::filesystem::path& path, std::string_view key_id);
SignatureSource signatures_beside(std::shared_ptr<FileSystem> files, std::filesystem::path path);

struct SignatureReport {
  std::vector<Signer> signers;       // each key once, in the policy's order
  std::vector<std::string> refused;  // a line for each trusted key that has not signed, and why
};

// Which of the policy's keys have signed these bytes, before anybody looks at what they say. untrusted: fewer
// than the policy wants. An error of the source is one. `what` names the bytes in messages.
Result<SignatureReport> verify_signatures(const TrustPolicy& policy, const std::string& what, ByteView bytes,
                                          const SignatureSource& source);

// What verified bytes say of themselves.
struct SignedRelease {
  std::string channel;
  std::uint64_t version = 0;
  std::uint64_t expires = 0;  // seconds since 1970; 0: never
};
// Where a release comes from a server it could be a newer one; what lies in a file may have travelled long,
// to where the clock is wrong.
enum class Expiry { enforced, reported };

// Whether a release may be used now, that these have signed: version, what was seen before, expiry. Remembers
// its version, unless it is only looked at. untrusted names both versions. A version that cannot be
// remembered is a warning.
Result<void> admit(const TrustPolicy& policy, const std::string& what, const SignedRelease& release,
                   const std::vector<Signer>& signers, FileSystem& files, Expiry expiry,
                   std::uint64_t seconds_since_1970, const LogSink& log, bool remember = true);

}  // namespace cubinet
