// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace cubinet {

// Which draft tokens of speculative decode see which. Row i, column j: token i may see token j. Every
// position before the drafts is visible to all; the mask covers the square of the drafts only.
//
// Packed as kernels read it: a row is `words` little-endian 32-bit words (as an array of uint16, twice as
// many), bit j % 32 of word j / 32, and the bits from q_len on are 0. Sequences of different lengths lie one
// after the other, all rows with the words of the longest.
struct PackedDraftMask {
  std::uint32_t words = 0;                 // a row
  std::vector<std::uint32_t> row_offsets;  // of each sequence's first row, and behind them the number of rows
  std::vector<std::uint32_t> bits;         // rows * words

  std::uint32_t sequences() const {
    return row_offsets.empty() ? 0 : static_cast<std::uint32_t>(row_offsets.size() - 1);
  }
  std::uint32_t q_len(std::uint32_t sequence) const {
    return row_offsets[sequence + 1] - row_offsets[sequence];
  }
  // REQUIRES: sequence < sequences(), row and column < q_len(sequence).
  bool sees(std::uint32_t sequence, std::uint32_t row, std::uint32_t column) const;
  // The words as bytes for the device.
  Bytes to_bytes() const;
};

// A square of flags for each sequence, row by row: visible[s][i * q_len + j]. invalid_argument when a
// sequence is empty, no square, or longer than kMaximumDraftTokens.
Result<PackedDraftMask> pack_draft_mask(std::span<const std::vector<bool>> visible);
// Token i sees token j where j <= i.
Result<PackedDraftMask> causal_draft_mask(std::span<const std::uint32_t> q_lens);

std::vector<std::vector<bool>> unpack_draft_mask(const PackedDraftMask& mask);
// The inverse of to_bytes: invalid_argument where the bytes do not hold the rows or a padding bit is set.
Result<PackedDraftMask> draft_mask_from_bytes(ByteView bytes, std::span<const std::uint32_t> q_lens);

inline constexpr std::uint32_t kMaximumDraftTokens = 4096;

}  // namespace cubinet
