// SPDX-License-Identifier: Apache-2.0
#include <cubinet/selection/draft_mask.hpp>

#include <algorithm>
#include <string>

namespace cubinet {
namespace {

constexpr std::uint32_t kWordBits = 32;

Error wrong(std::string reason) {
  return Error{ErrorCode::invalid_argument, "a mask of draft tokens " + std::move(reason)};
}

// The rows of every sequence, all bits 0.
Result<PackedDraftMask> blank(std::span<const std::uint32_t> q_lens) {
  PackedDraftMask mask;
  std::uint32_t longest = 0;
  std::uint64_t rows = 0;
  mask.row_offsets.push_back(0);
  for (const std::uint32_t q_len : q_lens) {
    if (q_len == 0 || q_len > kMaximumDraftTokens) {
      return wrong("has a sequence of " + std::to_string(q_len) + " tokens: it must have from 1 to " +
                   std::to_string(kMaximumDraftTokens));
    }
    longest = std::max(longest, q_len);
    rows += q_len;
    if (rows > 0x7fffffff) return wrong("has too many rows");
    mask.row_offsets.push_back(static_cast<std::uint32_t>(rows));
  }
  mask.words = (longest + kWordBits - 1) / kWordBits;
  mask.bits.resize(rows * mask.words);
  return mask;
}

void set_bit(PackedDraftMask& mask, std::uint32_t sequence, std::uint32_t row, std::uint32_t column) {
  const std::size_t word = std::size_t{mask.row_offsets[sequence] + row} * mask.words + column / kWordBits;
  mask.bits[word] |= 1U << (column % kWordBits);
}

std::uint32_t square_root(std::size_t area) {
  std::uint32_t side = 0;
  while (std::size_t{side} * side < area && side <= kMaximumDraftTokens)
    ++side;
  return side;
}

}  // namespace

bool PackedDraftMask::sees(std::uint32_t sequence, std::uint32_t row, std::uint32_t column) const {
  const std::size_t word = std::size_t{row_offsets[sequence] + row} * words + column / kWordBits;
  return ((bits[word] >> (column % kWordBits)) & 1U) != 0;
}

Bytes PackedDraftMask::to_bytes() const {
  ByteWriter writer;
  for (const std::uint32_t word : bits)
    writer.u32(word);
  return writer.take();
}

Result<PackedDraftMask> pack_draft_mask(std::span<const std::vector<bool>> visible) {
  std::vector<std::uint32_t> q_lens;
  for (const std::vector<bool>& square : visible) {
    const std::uint32_t side = square_root(square.size());
    if (std::size_t{side} * side != square.size()) {
      return wrong("has a sequence of " + std::to_string(square.size()) + " flags, which is no square");
    }
    q_lens.push_back(side);
  }
  CUBINET_TRY_ASSIGN(PackedDraftMask mask, blank(q_lens));
  for (std::uint32_t s = 0; s < q_lens.size(); ++s) {
    for (std::uint32_t i = 0; i < q_lens[s]; ++i) {
      for (std::uint32_t j = 0; j < q_lens[s]; ++j) {
        if (visible[s][std::size_t{i} * q_lens[s] + j]) set_bit(mask, s, i, j);
      }
    }
  }
  return mask;
}

Result<PackedDraftMask> causal_draft_mask(std::span<const std::uint32_t> q_lens) {
  CUBINET_TRY_ASSIGN(PackedDraftMask mask, blank(q_lens));
  for (std::uint32_t s = 0; s < q_lens.size(); ++s) {
    for (std::uint32_t i = 0; i < q_lens[s]; ++i) {
      for (std::uint32_t j = 0; j <= i; ++j)
        set_bit(mask, s, i, j);
    }
  }
  return mask;
}

std::vector<std::vector<bool>> unpack_draft_mask(const PackedDraftMask& mask) {
  std::vector<std::vector<bool>> visible;
  for (std::uint32_t s = 0; s < mask.sequences(); ++s) {
    const std::uint32_t q_len = mask.q_len(s);
    std::vector<bool> square(std::size_t{q_len} * q_len);
    for (std::uint32_t i = 0; i < q_len; ++i) {
      for (std::uint32_t j = 0; j < q_len; ++j)
        square[std::size_t{i} * q_len + j] = mask.sees(s, i, j);
    }
    visible.push_back(std::move(square));
  }
  return visible;
}

Result<PackedDraftMask> draft_mask_from_bytes(ByteView bytes, std::span<const std::uint32_t> q_lens) {
  CUBINET_TRY_ASSIGN(PackedDraftMask mask, blank(q_lens));
  if (bytes.size() != mask.bits.size() * sizeof(std::uint32_t)) {
    return wrong("has " + std::to_string(bytes.size()) + " bytes, its sequences take " +
                 std::to_string(mask.bits.size() * sizeof(std::uint32_t)));
  }
  ByteReader reader(bytes);
  for (std::uint32_t& word : mask.bits) {
    CUBINET_TRY_ASSIGN(word, reader.u32());
  }
  for (std::uint32_t s = 0; s < mask.sequences(); ++s) {
    for (std::uint32_t i = 0; i < mask.q_len(s); ++i) {
      for (std::uint32_t j = mask.q_len(s); j < mask.words * kWordBits; ++j) {
        if (mask.sees(s, i, j)) return wrong("has a padding bit that is not 0");
      }
    }
  }
  return mask;
}

}  // namespace cubinet
