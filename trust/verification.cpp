// SPDX-License-Identifier: Apache-2.0
#include "versions_seen.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/trust/signature.hpp>
#include <cubinet/trust/verification.hpp>

#include <algorithm>
#include <map>

namespace cubinet {
namespace {

constexpr std::size_t kMostTrustedKeys = 64;

std::string by(const TrustPolicy& policy) {
  return policy.origin.empty() ? "" : " (" + printable(policy.origin) + ")";
}

Result<void> check(const TrustPolicy& policy) {
  const auto wrong = [&](const std::string& reason) {
    return Error{ErrorCode::invalid_argument, "a policy" + by(policy) + " " + reason};
  };
  std::vector<PublicKey> distinct;
  for (const PublicKey& key : policy.trusted_keys) {
    if (std::find(distinct.begin(), distinct.end(), key) == distinct.end()) distinct.push_back(key);
  }
  if (policy.trusted_keys.size() > kMostTrustedKeys) return wrong("trusts more than 64 keys");
  if (policy.threshold == 0 && !distinct.empty()) return wrong("names keys of which none has to sign");
  if (!distinct.empty() && policy.threshold > distinct.size()) {
    return wrong("wants signatures of " + plural(policy.threshold, "key") + " and trusts " +
                 std::to_string(distinct.size()));
  }
  return {};
}

bool has_signed(const std::vector<Signer>& signers, const PublicKey& key) {
  return std::any_of(signers.begin(), signers.end(), [&](const Signer& signer) { return signer.key == key; });
}

// Returns the signature's key and comment, or an error if the key has not signed.
Result<Signer> verified(const PublicKey& key, const std::optional<Bytes>& file, ByteView bytes) {
  if (!file) return Error{ErrorCode::not_found, "has not signed it"};
  CUBINET_TRY_ASSIGN(MinisignSignature signature, parse_signature(as_text(*file)));
  CUBINET_TRY(verify_signature(key, signature, bytes));
  return Signer{key, std::move(signature.trusted_comment)};
}

}  // namespace

std::filesystem::path signature_path(const std::filesystem::path& path, std::string_view key_id) {
  std::filesystem::path beside = path;
  beside += "." + std::string(key_id) + ".minisig";
  return beside;
}

SignatureSource signatures_beside(std::shared_ptr<FileSystem> files, std::filesystem::path path) {
  return [files = std::move(files),
          path = std::move(path)](const std::string& key_id) -> Result<std::optional<Bytes>> {
    auto file = files->read(signature_path(path, key_id), kMaximumSignatureBytes);
    if (file) return std::optional<Bytes>(*std::move(file));
    if (file.error().code == ErrorCode::not_found) return std::optional<Bytes>();
    return std::move(file).error();
  };
}

Result<SignatureReport> verify_signatures(const TrustPolicy& policy, const std::string& what, ByteView bytes,
                                          const SignatureSource& source) {
  CUBINET_TRY(check(policy));
  SignatureReport report;
  std::map<std::string, std::optional<Bytes>> files;  // two keys with the same id share one file
  for (const PublicKey& key : policy.trusted_keys) {
    if (has_signed(report.signers, key)) continue;
    const std::string id = key.id();
    if (!files.contains(id)) {
      CUBINET_TRY_ASSIGN(files[id], source(id));
    }
    auto signer = verified(key, files[id], bytes);
    if (signer) {
      report.signers.push_back(*std::move(signer));
    } else if (const ErrorCode code = signer.error().code; code == ErrorCode::unsupported) {
      return std::move(signer).error();
    } else {
      report.refused.push_back("key " + id + ": " + signer.error().message);
    }
  }
  if (report.signers.size() >= policy.threshold) return report;
  if (policy.trusted_keys.empty()) {
    return Error{ErrorCode::untrusted, what + " is not used: the policy" + by(policy) + " trusts no key",
                 "name keys for this place in the policy"};
  }
  return Error{ErrorCode::untrusted,
               what + " is signed by " + std::to_string(report.signers.size()) + " of the " +
                   std::to_string(policy.threshold) + " trusted keys that have to" + by(policy) + ": " +
                   join(report.refused, "; "),
               "ask its maker for the missing signatures, or whether it is theirs"};
}

Result<void> admit(const TrustPolicy& policy, const std::string& what, const SignedRelease& release,
                   const std::vector<Signer>& signers, FileSystem& files, Expiry expiry,
                   std::uint64_t seconds_since_1970, const LogSink& log, bool remember) {
  const std::string named =
      what + " is version " + std::to_string(release.version) + " of '" + printable(release.channel) + "'";
  if (release.version < policy.minimum_version) {
    return Error{
        ErrorCode::untrusted,
        named + ", below the least that is taken, " + std::to_string(policy.minimum_version) + by(policy),
        "get a newer one"};
  }
  const bool remembers = policy.refuse_older && !policy.versions_seen.empty() && !signers.empty();
  const VersionsSeen seen(files, policy.versions_seen);
  if (remembers) {
    // All trusted keys count, not only those that have signed. Otherwise an old release would pass
    // if one of its signatures were removed.
    CUBINET_TRY_ASSIGN(const auto newest, seen.newest(release.channel, policy.trusted_keys));
    if (newest && release.version < newest->version) {
      return Error{ErrorCode::untrusted,
                   named + ", and version " + std::to_string(newest->version) + ", signed by key " +
                       newest->key_id + ", was seen here before" + by(policy),
                   "get a newer one; to go back, let its maker sign the old content as a newer version"};
    }
  }
  if (release.expires != 0 && seconds_since_1970 >= release.expires) {
    const std::string late =
        named + " and has expired " + plural((seconds_since_1970 - release.expires) / 86'400, "day") + " ago";
    if (expiry == Expiry::enforced) return Error{ErrorCode::untrusted, late, "get a newer one"};
    cubinet::log(log, LogLevel::warning, late);
  }
  if (!remembers || !remember) return {};
  for (const Signer& signer : signers) {
    const auto kept = seen.remember(release.channel, signer.key, release.version);
    if (!kept) {
      cubinet::log(log, LogLevel::warning, named + ", which is not remembered: " + kept.error().to_line());
    }
  }
  return {};
}

}  // namespace cubinet
