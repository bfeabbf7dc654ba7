// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/problem.hpp>

#include <cstdint>
#include <vector>

namespace cubinet {

// The KV lengths that a division of work is judged by. If the problem states its lengths, all are
// these. Otherwise each is a guess.
enum class AssumedLengths : std::uint8_t {
  longest = 0,  // AttentionProblem::kv_len, of all sequences
  shorter = 1,  // a quarter of it
  uneven = 2,   // all parts of it, equally often
};

// The first sequences whose lengths are kept. They stand for all.
inline constexpr std::uint32_t kCountedSequences = 32;

// Lengths, counted in work units.
struct DecodeLengths {
  std::uint32_t unit = 0;                 // tokens
  double units = 0;                       // of one tile of each sequence
  double tokens = 0;                      // that the tiles read
  std::uint32_t longest = 1;              // tokens that the tiles of the longest sequence read, at least 1
  std::vector<std::uint32_t> first = {};  // the units of each of the first sequences
};

// Returns the tokens that the queries of a sequence of this length read, in CTAs that start to read
// at multiples of `slice` tokens.
std::uint32_t readable_tokens(const AttentionProblem& problem, std::uint32_t slice, std::uint32_t length);

DecodeLengths count_lengths(const AttentionProblem& problem, std::uint32_t slice, std::uint32_t unit,
                            AssumedLengths assumed);

}  // namespace cubinet
