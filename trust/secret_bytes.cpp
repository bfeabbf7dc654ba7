// SPDX-License-Identifier: Apache-2.0
#include <cubinet/trust/secret_bytes.hpp>

#include <openssl/crypto.h>

namespace cubinet {

void cleanse(std::span<std::byte> bytes) {
  OPENSSL_cleanse(bytes.data(), bytes.size());
}

}  // namespace cubinet
