// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <array>
#include <string>
#include <string_view>

namespace cubinet {

// An Ed25519 public key as minisign writes it. Two of them are the same key when their 32 bytes are: the id,
// which its maker chooses, only says which file beside a bundle holds its signature.
class PublicKey {
 public:
  // "RW…", as `minisign -P` takes it, or the two lines of a `.pub` file. invalid_argument for what is
  // neither, and for keys under which others could sign (points of small order, a second writing of one).
  static Result<PublicKey> parse(std::string_view text);
  // The same checks.
  static Result<PublicKey> make(const std::array<std::byte, 8>& id, const std::array<std::byte, 32>& point);

  std::string to_string() const;  // "RW…"
  std::string to_file() const;    // the two lines
  std::string id() const;         // 16 digits, as minisign prints it but for leading zeros

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
