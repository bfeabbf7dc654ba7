// SPDX-License-Identifier: Apache-2.0
#include <cubinet/session/builtin_bundle.hpp>

namespace cubinet {

// CUBINET_BUILTIN_ROOT is the digest in hex, or empty (session/CMakeLists.txt).
std::optional<Sha256Digest> builtin_bundle_root() {
  const auto root = Sha256Digest::parse(CUBINET_BUILTIN_ROOT);
  return root ? std::optional(*root) : std::nullopt;
}

}  // namespace cubinet
