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

// What the policy file says of a place: of the lines that fit the longest, else the default; nullopt where it
// has neither, or there is no file. docs/formats/policy.md is the format. `home`: where `policy.json` is
// looked for when no file is named, and whose key set and versions seen count; may be empty. `files` nullptr:
// the operating system's.
//
// invalid_argument names the line; untrusted: somebody else could have written the file, or it names the
// home's key set and there is none. None of them is a reason to go on without a policy.
Result<std::optional<TrustPolicy>> find_trust_policy(const std::string& place, const std::string& home,
                                                     const std::string& policy_file = {},
                                                     std::shared_ptr<FileSystem> files = nullptr);

}  // namespace cubinet
