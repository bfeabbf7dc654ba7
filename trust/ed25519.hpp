// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <array>

namespace cubinet {

using Ed25519Point = std::array<std::byte, 32>;  // a public key
using Ed25519Signature = std::array<std::byte, 64>;

// nullptr for a key that may be trusted, else why not. Two kinds are not: the encodings of the eight points
// of small order, under which one signature is good for many texts (S = 0 for all of them: libcrypto 3.0
// takes it), and y of 2^255 - 19 and above, a second writing of a key.
const char* why_not_a_key(const Ed25519Point& key);

// untrusted: the signature is not this key's over these bytes, or its S is not below the group's order.
Result<void> verify_ed25519(const Ed25519Point& key, const Ed25519Signature& signature, ByteView message);

// REQUIRES of both: a seed of 32 bytes.
Result<Ed25519Signature> sign_ed25519(ByteView seed, ByteView message);
Result<Ed25519Point> public_key_of(ByteView seed);

}  // namespace cubinet
