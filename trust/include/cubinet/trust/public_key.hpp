// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <array>
#include <string>
#include <string_view>

namespace cubinet {

// An Ed25519 public key as minisign writes it. Two keys are equal if their 32 bytes are equal. The
// id, which its maker chooses, only names the signature file beside a bundle.
class PublicKey {
 public:
  // Parses "RW…", as `minisign -P` accepts it, or the two lines of a `.pub` file. Returns
  // invalid_argument for any other text and for keys under which others could sign (points of small
  // order, second encodings of a key).
  static Result<PublicKey> parse(std::string_view text);
  // Makes a key from its bytes, with the same checks.
  static Result<PublicKey> make(const std::array<std::byte, 8>& id, const std::array<std::byte, 32>& point);

  std::string to_string() const;  // "RW…"
  std::string to_file() const;    // the two lines
  std::string id() const;         // 16 digits, as minisign prints it except for leading zeros

  const std::array<std::byte, 8>& id_bytes() const { return id_; }
  const std::array<std::byte, 32>& point() const { return point_; }

  friend bool operator==(const PublicKey& a, const PublicKey& b) { return a.point_ == b.point_; }

 private:
  PublicKey(const std::array<std::byte, 8>& id, const std::array<std::byte, 32>& point)
      : id_(id), point_(point) {}

  std::array<std::byte, 8> id_;
  std::array<std::byte, 32> point_;
};

}  // namespace cubinet
