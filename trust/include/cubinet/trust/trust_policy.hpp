// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/trust/public_key.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

class FileSystem;

// The policy that decides whether content of a location (a bundle's file, a server) is accepted. A
// default-constructed policy accepts nothing because it trusts no key.
struct TrustPolicy {
  std::vector<PublicKey> trusted_keys;  // at most 64; duplicates count once
  // The number of trusted keys that must have signed. Keys are distinguished by their bytes, not
  // their ids. 0, with an empty list of keys, also accepts unsigned content.
  std::uint32_t threshold = 1;
  // The lowest version that is accepted, also if no version was seen before, as in a fresh
  // container.
  std::uint64_t minimum_version = 0;
  // If true, a release is rejected when it is older than the newest version of its channel that a
  // trusted key has signed. The folder `versions_seen` stores the newest versions. If it is empty,
  // nothing is stored.
  bool refuse_older = true;
  std::string versions_seen;
  // If true, a server's content is read from what was fetched earlier, and the server is not
  // queried. Has no effect on files.
  bool local_only = false;
  std::string origin;  // the policy's location for messages: "/etc/cubinet/policy.json, line 4"
};

// The place of the bundle that belongs to the library (SessionOptions::builtin_bundle). Only a
// store of the policy with exactly this place applies to it, not the default.
inline constexpr std::string_view kBuiltinPlace = "builtin:";

// A trusted key that has signed, and the comment that it signed.
struct Signer {
  PublicKey key;
  std::string comment;
};

// Returns the policy of a location: the one of the longest matching store in the policy file, else
// the file's default. Returns nullopt if the file has neither, or if there is no file. The format
// is docs/formats/policy.md.
//
// `place` is a path, kBuiltinPlace, or the URL of a server without channel and digest. A URL may
// have any form that can be made canonical. `home` is the folder whose `policy.json` is used if
// `policy_file` is empty, and whose key set and versions seen are used. It may be empty. If `files`
// is nullptr, the operating system's files are used.
//
// Errors: invalid_argument names the line of the file, or the location that has no canonical form.
// untrusted is returned if another user could have written the file, if the file names the home's
// key set and there is none, or if a link leads from one store's location into another's. io is
// returned if the links of a path cannot be followed. Callers must not continue without a policy
// after an error.
Result<std::optional<TrustPolicy>> find_trust_policy(const std::string& place, const std::string& home,
                                                     const std::string& policy_file = {},
                                                     std::shared_ptr<FileSystem> files = nullptr);

}  // namespace cubinet
