// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/trust/public_key.hpp>

#include <array>
#include <string>
#include <string_view>

namespace cubinet {

class SecretKey;

// What a file of minisign's holds that is longer is none.
inline constexpr std::size_t kMaximumSignatureBytes = 12'288;
inline constexpr std::size_t kMaximumTrustedComment = 8'192;

// A `.minisig` file of minisign's: two signatures, over the signed bytes and over that signature and a
// comment.
struct MinisignSignature {
  std::array<std::byte, 8> key_id{};  // of the key that is said to have made it
  bool prehashed = true;              // over the BLAKE2b-512 of the bytes; `minisign -l` signs the bytes
  std::array<std::byte, 64> signature{};
  std::string trusted_comment;
  std::array<std::byte, 64> comment_signature{};

  std::string to_file() const;
};

// The four lines and nothing else: invalid_argument. Pure.
Result<MinisignSignature> parse_signature(std::string_view text);

// Both signatures, and that the id is the key's. untrusted: it is not by this key, or over other bytes.
Result<void> verify_signature(const PublicKey& key, const MinisignSignature& signature, ByteView bytes);

// invalid_argument for a comment that no file could hold.
Result<MinisignSignature> sign(const SecretKey& key, ByteView bytes, std::string_view trusted_comment);

}  // namespace cubinet
