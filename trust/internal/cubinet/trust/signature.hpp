// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/trust/public_key.hpp>

#include <array>
#include <string>
#include <string_view>

namespace cubinet {

class SecretKey;

// The size limit of a minisign signature file. Longer files are rejected.
inline constexpr std::size_t kMaximumSignatureBytes = 12'288;
inline constexpr std::size_t kMaximumTrustedComment = 8'192;

// A `.minisig` file of minisign. It holds two signatures: one over the signed bytes, and one over
// that signature and a comment.
struct MinisignSignature {
  std::array<std::byte, 8> key_id{};  // the id of the key that the file claims made it
  // If true, the BLAKE2b-512 of the bytes is signed. `minisign -l` signs the bytes themselves.
  bool prehashed = true;
  std::array<std::byte, 64> signature{};
  std::string trusted_comment;
  std::array<std::byte, 64> comment_signature{};

  std::string to_file() const;
};

// Parses a file of exactly four lines. Returns invalid_argument for any other text. Pure.
Result<MinisignSignature> parse_signature(std::string_view text);

// Verifies both signatures, and that the id is the key's. Returns untrusted if the signature is not
// by this key or over other bytes.
Result<void> verify_signature(const PublicKey& key, const MinisignSignature& signature, ByteView bytes);

// Signs bytes. Returns invalid_argument for a comment that no file can hold.
Result<MinisignSignature> sign(const SecretKey& key, ByteView bytes, std::string_view trusted_comment);

}  // namespace cubinet
