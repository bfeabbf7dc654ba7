// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/decode_problem.hpp>
#include <cubinet/base/result.hpp>

#include <cstdint>
#include <vector>

namespace cubinet {

// Elements of bf16 or fp16, as their bits.
using HalfBits = std::vector<std::uint16_t>;

float to_float(std::uint16_t bits, DataType type);     // REQUIRES: bf16 or fp16
std::uint16_t from_float(float value, DataType type);  // to nearest even; REQUIRES: bf16 or fp16

// The tensors of a problem in host memory, laid out as the kernel reads them.
struct DecodeInputs {
  HalfBits q;
  HalfBits k;  // pool of `pages` pages in the problem's layout
  HalfBits v;
  std::vector<std::int32_t> page_table;  // [batch, problem.pages_per_sequence()]
  std::vector<std::int32_t> kv_lengths;  // [batch]
  std::int64_t pages = 0;
};

enum class LengthPattern {
  uniform,  // every sequence has kv_len_max tokens
  // The first kv_len_max, the second (of two and more) empty, the others beside the borders of pages and
  // tiles, from both ends of what is allowed.
  borders,
};

// REQUIRES: check(problem) holds.
std::vector<std::int32_t> make_decode_lengths(const DecodeProblem& problem, LengthPattern pattern);

// Random inputs that a wrong kernel cannot pass by luck: logits of standard deviation 4, normal V; pages in
// shuffled order; NaN in everything that no query may read: unused pages (the page table's spare entries name
// one), the rest of last pages, tokens older than every window. Deterministic in the seed; uses `threads`
// threads (0: one a core). invalid_argument for lengths that do not fit the problem or a pool of more than
// 2^31 - 1 pages.
Result<DecodeInputs> make_decode_inputs(const DecodeProblem& problem,
                                        const std::vector<std::int32_t>& kv_lengths, std::uint64_t seed,
                                        unsigned threads = 0);

}  // namespace cubinet
