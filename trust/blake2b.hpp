// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <array>

namespace cubinet {

// Computes BLAKE2b-512 with libcrypto. Returns unsupported if libcrypto's policy forbids it (FIPS).
Result<std::array<std::byte, 64>> blake2b_512(ByteView bytes);

// Computes BLAKE2b with a 32-byte digest (RFC 7693) of one block, which is minisign's checksum of a
// secret key. libcrypto supports this length from 3.2 on. REQUIRES: at most 128 bytes.
std::array<std::byte, 32> blake2b_256(ByteView bytes);

}  // namespace cubinet
