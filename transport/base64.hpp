// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

namespace cubinet {

// RFC 4648, 4: with padding.
std::string to_base64(ByteView bytes);
// Nothing but whole groups of the alphabet's characters; invalid_argument otherwise, which does not quote the
// text, for it may be a password.
Result<std::string> from_base64(std::string_view text);

}  // namespace cubinet
