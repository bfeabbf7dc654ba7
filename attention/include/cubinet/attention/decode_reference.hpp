// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/decode_inputs.hpp>
#include <cubinet/attention/decode_problem.hpp>
#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>

#include <cstdint>
#include <vector>

namespace cubinet {

struct DecodeOutputs {
  std::vector<double> o;    // [batch, q_len, heads_q, head_dim_v]
  std::vector<double> lse;  // [batch, q_len, heads_q], natural logarithm; -infinity where nothing is visible
};

// Attention in double precision on the CPU, straight from the definition. A query that sees no token gives
// zeros. Reads only what a query may read. `threads` 0: one a core. invalid_argument when the inputs do not
// fit the problem: sizes, lengths, page numbers.
Result<DecodeOutputs> decode_reference(const DecodeProblem& problem, const DecodeInputs& inputs,
                                       unsigned threads = 0);

// How far an output is from the reference. A row is one query head of one token.
struct DecodeError {
  double worst_row = 0;  // the largest ||o - ref|| / ||ref|| of a row; infinity when an element is not finite
  double all_rows = 0;   // the same over the whole output
  double worst_lse = 0;  // the largest |lse - ref|; 0 when no LSE was compared
  std::int64_t worst_index = 0;  // row of worst_row: (sequence * q_len + token) * heads_q + head
};

// `o` holds the output's elements as the kernel stores them (problem.dtype_o); `lse` may be empty. Rows whose
// reference is zero must be exactly zero. invalid_argument when a size differs.
Result<DecodeError> compare_decode(const DecodeProblem& problem, const DecodeOutputs& reference, ByteView o,
                                   const std::vector<float>& lse);

}  // namespace cubinet
