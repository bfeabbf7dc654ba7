// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <array>

namespace cubinet {

// libcrypto's. unsupported where its policy forbids it (FIPS).
Result<std::array<std::byte, 64>> blake2b_512(ByteView bytes);

// BLAKE2b with a digest of 32 bytes (RFC 7693) of one block: minisign's checksum of a secret key. libcrypto
// gives that length from 3.2 on. REQUIRES: at most 128 bytes.
std::array<std::byte, 32> blake2b_256(ByteView bytes);

}  // namespace cubinet
