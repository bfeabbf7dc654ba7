// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/sha256.hpp>

#include <memory>
#include <string_view>

namespace cubinet {

// A hasher of a sequence of fields. `field` first writes a tag and both lengths, so that no two
// different sequences of fields hash the same bytes. Not thread-safe; movable.
class Sha256Hasher {
 public:
  Sha256Hasher();
  ~Sha256Hasher();
  Sha256Hasher(Sha256Hasher&&) noexcept;
  Sha256Hasher& operator=(Sha256Hasher&&) noexcept;

  void raw(ByteView bytes);
  void field(std::string_view tag, std::string_view content);
  Sha256Digest finish();  // the hasher must not be used afterwards

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cubinet
