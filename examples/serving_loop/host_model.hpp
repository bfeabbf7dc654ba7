// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "page_pool.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace serving_loop {

// A model of one layer, with the heads of Llama-3-8B on one of four devices. A table has Q, K and V
// of each token of the vocabulary. Q and K are rotated by the token's position. A hash of the bits
// of a row of O is the next token, so tokens are equal only if bits are.
inline constexpr std::uint32_t kHeads = 8, kKvHeads = 2, kHeadDim = 128, kVocabulary = 256;
inline constexpr std::size_t kRow = kHeads * kHeadDim;      // columns of Q and O
inline constexpr std::size_t kKvRow = kKvHeads * kHeadDim;  // columns of K, and of V
inline constexpr std::size_t kQkvRow = kRow + 2 * kKvRow;   // columns of the table
inline constexpr double kSoftmaxScale = 0.5;

struct Weights {
  std::vector<std::uint16_t> qkv;  // [kVocabulary, kQkvRow], bf16: Q, then K, then V
  std::vector<float> cos_sin;      // [positions, kHeadDim]
};
Weights make_weights(std::uint32_t positions);

// Computes the row of O at the last of the tokens in double precision.
std::vector<double> attend(const Weights& weights, std::span<const Token> tokens);

// Returns the root mean square of the difference of a bf16 row and the expected one, relative to
// that of the expected one. NaN if the row has a NaN.
double relative_error(std::span<const std::uint16_t> row, std::span<const double> expected);

}  // namespace serving_loop
