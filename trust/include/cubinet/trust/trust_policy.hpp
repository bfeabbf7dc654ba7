// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/trust/public_key.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

class FileSystem;

// Whose word counts for what comes from a place: a bundle's file, a server. One that is made without a word
// takes nothing, for no key is trusted.
struct TrustPolicy {
  std::vector<PublicKey> trusted_keys;  // at most 64; one that is listed twice counts once
  // How many of these keys, told apart by the key and not by its id, have to have signed. 0, and then no
  // key: what is not signed is taken too.
  std::uint32_t threshold = 1;
  // The least version that is taken, also where nothing was seen before: in a fresh container, say.
  std::uint64_t minimum_version = 0;
  // Refuse what is older than the newest version of the channel that one of the trusted keys has signed. The
  // newest are kept in this folder; where none is named nothing is remembered.
  bool refuse_older = true;
  std::string versions_seen;
  // What a server has is read where it was fetched before, and not asked for. Nothing to a file.
  bool local_only = false;
  std::string origin;  // where it stands, for messages: "/etc/cubinet/policy.json, line 4"
};

// A trusted key that has signed, and what it said with it.
struct Signer {
  PublicKey key;
  std::string comment;
};

// Returns the policy of a place: of the stores in the policy file that hold it the longest, else the default;
// nullopt if it has neither, or there is no file. The format is docs/formats/policy.md.
//
// `place` is a path, or the URL of a server without channel and digest, in any form that has a canonical one.
// `home` is the folder whose `policy.json` counts if no file is named, and whose key set and versions seen
// count; it may be empty. `files` nullptr means the operating system's.
//
// Errors: invalid_argument names the line of the file, or the place that has no canonical form; untrusted if
// somebody else could have written the file, if it names the home's key set and there is none, or if a link
// leads from one store's place into another's; io if the links of a path cannot be followed. Never go on
// without a policy after an error.
Result<std::optional<TrustPolicy>> find_trust_policy(const std::string& place, const std::string& home,
                                                     const std::string& policy_file = {},
                                                     std::shared_ptr<FileSystem> files = nullptr);

}  // namespace cubinet
