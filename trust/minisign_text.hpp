// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/error.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// The common parts of minisign's files, which are lines of which the first is an unsigned comment.
inline constexpr std::string_view kUntrustedComment = "untrusted comment: ";
inline constexpr std::size_t kMaximumComment = 1024;
// The algorithm of keys, and of signatures over the bytes.
inline constexpr std::string_view kEd25519 = "Ed";
// The algorithm of signatures over the bytes' BLAKE2b-512.
inline constexpr std::string_view kPrehashed = "ED";

// Returns whether the text contains no control characters other than the tab that minisign itself
// writes.
bool is_comment(std::string_view text);

// Returns the lines of a text that consists of exactly `count` lines, all ended by a newline or all
// by CR and newline. Returns no lines for any other text. The lines refer to the text.
std::vector<std::string_view> exact_lines(std::string_view text, std::size_t count);

// Returns a key's id as minisign prints it, which is a little-endian number.
std::string key_id_text(const std::array<std::byte, 8>& id);

// A reader of fixed-size fields in sequence. REQUIRES: at least as many bytes as are taken.
class FixedFields {
 public:
  explicit FixedFields(ByteView bytes) : bytes_(bytes) {}
  ByteView take(std::size_t count) {
    const ByteView taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }
  template <std::size_t count>
  std::array<std::byte, count> array() {
    std::array<std::byte, count> value{};
    const ByteView taken = take(count);
    std::copy(taken.begin(), taken.end(), value.begin());
    return value;
  }
  std::uint64_t u64() {
    std::uint64_t value = 0;
    const ByteView taken = take(8);
    for (std::size_t i = 8; i-- > 0;)
      value = value << 8U | std::to_integer<std::uint64_t>(taken[i]);
    return value;
  }

 private:
  ByteView bytes_;
};

}  // namespace cubinet
