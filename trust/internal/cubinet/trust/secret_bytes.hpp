// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <span>
#include <utility>

namespace cubinet {

// Overwrites the bytes, even if the compiler sees that nothing reads them afterwards.
void cleanse(std::span<std::byte> bytes);

// A byte buffer that is overwritten before its memory is freed. Used for passwords, secret keys and
// their files.
class SecretBytes {
 public:
  SecretBytes() = default;
  explicit SecretBytes(Bytes bytes) : bytes_(std::move(bytes)) {}
  ~SecretBytes() { cleanse(bytes_); }
  SecretBytes(SecretBytes&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  SecretBytes& operator=(SecretBytes&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  SecretBytes(const SecretBytes&) = delete;
  SecretBytes& operator=(const SecretBytes&) = delete;

  std::span<std::byte> span() { return bytes_; }
  ByteView view() const { return bytes_; }
  std::string_view text() const { return as_text(bytes_); }

 private:
  Bytes bytes_;
};

}  // namespace cubinet
