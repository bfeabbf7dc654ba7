// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <string>
#include <string_view>

namespace cubinet {

// Base64 of RFC 4648, with its padding.
std::string to_base64(ByteView bytes);
// Only the one text that to_base64 gives for some bytes: invalid_argument for another character, a missing
// padding, and bits that stand for nothing and are not zero. The error does not repeat the text, which may be
// a secret.
Result<Bytes> from_base64(std::string_view text);

}  // namespace cubinet
