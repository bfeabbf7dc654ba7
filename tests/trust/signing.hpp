// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "minisign_tool.hpp"
#include "support/ok.hpp"

#include <cubinet/base/base64.hpp>
#include <cubinet/trust/secret_key.hpp>
#include <cubinet/trust/signature.hpp>
#include <cubinet/trust/verification.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

namespace cubinet::test {

inline SecretKey new_key() {
  return ok(SecretKey::generate());
}

// Returns the same secret under another id, or another secret under the id of `key`, as an attacker
// could make them.
inline SecretKey renamed(const SecretKey& key, const std::array<std::byte, 8>& id) {
  const SecretBytes text = ok(key.to_file(nullptr));
  const std::size_t start = text.text().find('\n') + 1;
  Bytes bytes = ok(from_base64(text.text().substr(start, text.text().size() - start - 1)));
  std::copy(id.begin(), id.end(), bytes.begin() + 54);
  std::fill(bytes.end() - 32, bytes.end(), std::byte{0});
  return ok(SecretKey::parse("untrusted comment: x\n" + to_base64(bytes) + "\n", nullptr));
}

inline void sign_file(const std::filesystem::path& path, const SecretKey& key,
                      std::string_view comment = "c") {
  const MinisignSignature signature = ok(sign(key, as_bytes(text_of(path)), comment));
  put(signature_path(path, key.public_key().id()), signature.to_file());
}

}  // namespace cubinet::test
