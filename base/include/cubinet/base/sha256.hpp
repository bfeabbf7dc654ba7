// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <string>
#include <string_view>

namespace cubinet {

// A SHA-256 digest: the name of content. Everything that decides whether bytes may be used compares these;
// XXH3 is only ever an index.
struct Sha256Digest {
  std::array<std::byte, 32> bytes{};

  std::string to_hex() const;  // 64 lower-case digits
  static Result<Sha256Digest> parse(std::string_view hex);

  friend bool operator==(const Sha256Digest&, const Sha256Digest&) = default;
  friend auto operator<=>(const Sha256Digest&, const Sha256Digest&) = default;
};

// libcrypto's SHA-256 (it uses the processor's SHA instructions: 4 times coreutils here).
Sha256Digest sha256(ByteView bytes);

}  // namespace cubinet
