// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <string>
#include <string_view>

namespace cubinet {

// Encodes bytes as base64 (RFC 4648) with padding.
std::string to_base64(ByteView bytes);
// Decodes the canonical text only, which is the one that to_base64 returns. Returns
// invalid_argument for other characters, missing padding, or unused bits that are not zero. The
// error does not repeat the text, which may be a secret.
Result<Bytes> from_base64(std::string_view text);

}  // namespace cubinet
