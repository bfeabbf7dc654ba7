// SPDX-License-Identifier: Apache-2.0
#include "ed25519.hpp"

#include "crypto_errors.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>

namespace cubinet {
namespace {

using KeyPointer = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using ContextPointer = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

// A 256-bit number, most significant byte first, so that numbers compare lexicographically.
using Number = std::array<std::uint8_t, 32>;

constexpr Number number(std::string_view hex) {
  const auto digit = [](char c) { return static_cast<std::uint8_t>(c <= '9' ? c - '0' : c - 'a' + 10); };
  Number value{};
  for (std::size_t i = 0; i < value.size(); ++i)
    value[i] = static_cast<std::uint8_t>(digit(hex[2 * i]) << 4U | digit(hex[2 * i + 1]));
  return value;
}

constexpr Number kPrime = number("7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffed");
constexpr Number kOrder25519 = number("1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3ed");
// The y of the points whose order divides 8: 1 and -1 (x = 0), 0, and two more that are each
// other's negative.
constexpr Number kSmallOrder[] = {number("0000000000000000000000000000000000000000000000000000000000000001"),
                                  number("7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffec"),
                                  number("0000000000000000000000000000000000000000000000000000000000000000"),
                                  number("05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826"),
                                  number("7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7")};

Number read_number(ByteView little_endian) {
  Number value{};
  for (std::size_t i = 0; i < value.size(); ++i)
    value[i] = std::to_integer<std::uint8_t>(little_endian[value.size() - 1 - i]);
  return value;
}

const unsigned char* raw(ByteView bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

Error no_ed25519() {
  return Error{ErrorCode::unsupported, "libcrypto has no Ed25519 here",
               "its configuration forbids it: a host in FIPS mode verifies no signatures"};
}

Result<KeyPointer> secret(ByteView seed) {
  KeyPointer key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, raw(seed), seed.size()),
                 &EVP_PKEY_free);
  if (key == nullptr) return no_ed25519();
  return key;
}

}  // namespace

const char* why_not_a_key(const Ed25519Point& key) {
  Number y = read_number(key);
  y[0] &= 0x7fU;  // the topmost bit is the sign of x
  if (y >= kPrime) return "is not the canonical writing of its point";
  if (std::find(std::begin(kSmallOrder), std::end(kSmallOrder), y) != std::end(kSmallOrder))
    return "is of small order: anybody can sign for it";
  return nullptr;
}

Result<void> verify_ed25519(const Ed25519Point& key, const Ed25519Signature& signature, ByteView message) {
  const CryptoErrors errors;
  const Error wrong{ErrorCode::untrusted, "the signature is not this key's over these bytes"};
  if (read_number(ByteView(signature).last(32)) >= kOrder25519) return wrong;
  const KeyPointer point(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw(key), key.size()),
                         &EVP_PKEY_free);
  const ContextPointer context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  if (point == nullptr || context == nullptr ||
      EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, point.get()) != 1) {
    return no_ed25519();
  }
  if (EVP_DigestVerify(context.get(), raw(signature), signature.size(), raw(message), message.size()) != 1)
    return wrong;
  return {};
}

Result<Ed25519Signature> sign_ed25519(ByteView seed, ByteView message) {
  const CryptoErrors errors;
  CUBINET_TRY_ASSIGN(const KeyPointer key, secret(seed));
  const ContextPointer context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  Ed25519Signature signature{};
  std::size_t size = signature.size();
  if (context == nullptr || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, raw(message),
                     message.size()) != 1) {
    return no_ed25519();
  }
  return signature;
}

Result<Ed25519Point> public_key_of(ByteView seed) {
  const CryptoErrors errors;
  CUBINET_TRY_ASSIGN(const KeyPointer key, secret(seed));
  Ed25519Point point{};
  std::size_t size = point.size();
  if (EVP_PKEY_get_raw_public_key(key.get(), reinterpret_cast<unsigned char*>(point.data()), &size) != 1)
    return no_ed25519();
  return point;
}

}  // namespace cubinet
