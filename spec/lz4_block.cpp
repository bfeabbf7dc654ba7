// SPDX-License-Identifier: Apache-2.0
#include "lz4_block.hpp"

namespace cubinet {
namespace {

constexpr unsigned kLongLength = 15;
constexpr std::size_t kShortestMatch = 4;

class BlockReader {
 public:
  BlockReader(ByteView packed, std::size_t size) : rest_(packed), size_(size) { out_.reserve(size); }

  std::optional<Bytes> read() {
    while (!rest_.empty()) {
      const unsigned token = take_byte();
      if (!copy_literals(token >> 4U)) return std::nullopt;
      if (rest_.empty()) break;  // the last sequence has literals only
      if (!copy_match(token & 0xfU)) return std::nullopt;
    }
    if (out_.size() != size_) return std::nullopt;
    return std::move(out_);
  }

 private:
  unsigned take_byte() {
    const auto byte = std::to_integer<unsigned>(rest_.front());
    rest_ = rest_.subspan(1);
    return byte;
  }

  // Reads a length. A length of 15 continues in bytes, all but the last of which are 255.
  std::optional<std::size_t> length(unsigned begun) {
    std::size_t length = begun;
    if (begun != kLongLength) return length;
    while (!rest_.empty()) {
      const unsigned more = take_byte();
      length += more;
      if (length > size_) return std::nullopt;
      if (more != 255) return length;
    }
    return std::nullopt;
  }

  bool copy_literals(unsigned begun) {
    const auto count = length(begun);
    if (!count || *count > rest_.size() || *count > size_ - out_.size()) return false;
    out_.insert(out_.end(), rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(*count));
    rest_ = rest_.subspan(*count);
    return true;
  }

  bool copy_match(unsigned begun) {
    if (rest_.size() < 2) return false;
    std::size_t distance = take_byte();
    distance |= static_cast<std::size_t>(take_byte()) << 8U;
    const auto more = length(begun);
    if (!more || distance == 0 || distance > out_.size()) return false;
    const std::size_t count = *more + kShortestMatch;
    if (count > size_ - out_.size()) return false;
    for (std::size_t i = 0; i < count; ++i)  // the match may overlap its own output
      out_.push_back(out_[out_.size() - distance]);
    return true;
  }

  ByteView rest_;
  std::size_t size_;
  Bytes out_;
};

}  // namespace

std::optional<Bytes> unpack_lz4_block(ByteView packed, std::size_t size) {
  return BlockReader(packed, size).read();
}

}  // namespace cubinet
