// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <array>

namespace cubinet {

using Ed25519Point = std::array<std::byte, 32>;  // a public key
using Ed25519Signature = std::array<std::byte, 64>;

// Returns nullptr if the key may be trusted, else the reason. Two kinds of key are rejected. The
// first are the encodings of the eight points of small order: one signature with them is valid for
// many texts (S = 0 for all texts, which libcrypto 3.0 accepts). The second are encodings with y of
// 2^255 - 19 and above, which are second encodings of a key.
const char* why_not_a_key(const Ed25519Point& key);

// Returns untrusted if the signature is not this key's over these bytes, or if its S is not below
// the group's order.
Result<void> verify_ed25519(const Ed25519Point& key, const Ed25519Signature& signature, ByteView message);

// Both functions REQUIRE a seed of 32 bytes.
Result<Ed25519Signature> sign_ed25519(ByteView seed, ByteView message);
Result<Ed25519Point> public_key_of(ByteView seed);

}  // namespace cubinet
