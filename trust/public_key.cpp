// SPDX-License-Identifier: Apache-2.0
#include "ed25519.hpp"
#include "minisign_text.hpp"

#include <cubinet/base/base64.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/trust/public_key.hpp>

namespace cubinet {
namespace {

constexpr std::size_t kPublicKeyBytes = 2 + 8 + 32;

}  // namespace

Result<PublicKey> PublicKey::make(const std::array<std::byte, 8>& id,
                                  const std::array<std::byte, 32>& point) {
  if (const char* reason = why_not_a_key(point)) {
    return Error{ErrorCode::invalid_argument, "the public key " + key_id_text(id) + " " + reason,
                 "make another one with `minisign -G` or `SecretKey::generate()`"};
  }
  return PublicKey(id, point);
}

Result<PublicKey> PublicKey::parse(std::string_view text) {
  Error wrong{ErrorCode::invalid_argument, "'" + printable(text, kQuotedBytes) + "' is no public key",
              "give what `minisign -G` printed: 56 characters that begin with RW, or the file with them"};
  std::string_view coded = text;
  if (text.starts_with(kUntrustedComment)) {
    const auto lines = exact_lines(text, 2);
    if (lines.empty() || lines[0].size() > kMaximumComment) return wrong;
    coded = lines[1];
  }
  if (coded.size() != kPublicKeyBytes / 3 * 4) return wrong;
  const auto bytes = from_base64(coded);
  if (!bytes || bytes->size() != kPublicKeyBytes) return wrong;
  FixedFields fields(*bytes);
  if (as_text(fields.take(2)) != kEd25519) return wrong;
  const auto id = fields.array<8>();
  return make(id, fields.array<32>());
}

std::string PublicKey::to_string() const {
  Bytes bytes;
  for (const ByteView part : {as_bytes(kEd25519), ByteView(id_), ByteView(point_)})
    bytes.insert(bytes.end(), part.begin(), part.end());
  return to_base64(bytes);
}

std::string PublicKey::to_file() const {
  return std::string(kUntrustedComment) + "minisign public key " + id() + "\n" + to_string() + "\n";
}

std::string PublicKey::id() const {
  return key_id_text(id_);
}

}  // namespace cubinet
