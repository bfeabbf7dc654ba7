// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/reference.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cubinet {

// Positions of KV tokens. Signed, as lengths on the device are: a query may stand before the first token.
struct TokenRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Where page `page`, token `token` within it and head `head` begin in a pool, in elements.
inline std::size_t pool_offset(const AttentionProblem& problem, std::int64_t page, std::size_t token,
                               std::size_t head, std::size_t head_dim) {
  const std::size_t tokens = problem.tokens_per_page;
  const std::size_t heads = problem.heads_kv;
  const std::size_t row = problem.kv_order == KvOrder::nhd ? token * heads + head : head * tokens + token;
  return (static_cast<std::size_t>(page) * tokens * heads + row) * head_dim;
}

// A sequence has one row of the page table, or one for K and one for V.
inline std::size_t page_table_rows(const AttentionProblem& problem) {
  return problem.separate_page_tables ? 2 : 1;
}

// Which rows of Q, K and V belong to each sequence, and who sees what. Looks at the lengths when it is made,
// which there must be one a sequence of, and at the page table when it is asked. Owns neither problem nor
// inputs.
class SequenceRows {
 public:
  SequenceRows(const AttentionProblem& problem, const AttentionInputs& inputs)
      : problem_(problem), inputs_(inputs), q_begin_(problem.batch + 1), kv_begin_(problem.batch + 1) {
    for (std::size_t b = 0; b < problem.batch; ++b) {
      q_begin_[b + 1] = q_begin_[b] + q_length(b);
      kv_begin_[b + 1] = kv_begin_[b] + static_cast<std::size_t>(inputs.kv_lengths[b]);
    }
  }

  std::uint32_t q_length(std::size_t sequence) const {
    return problem_.ragged_q ? static_cast<std::uint32_t>(inputs_.q_lengths[sequence]) : problem_.q_len;
  }
  // The first token of a sequence in Q and O.
  std::size_t q_begin(std::size_t sequence) const { return q_begin_[sequence]; }
  std::size_t q_tokens() const { return q_begin_.back(); }
  // The first token of a sequence in K and V that are not paged.
  std::size_t kv_begin(std::size_t sequence) const { return kv_begin_[sequence]; }
  // Rows of a head in K or in V: of all pages, or of all sequences side by side.
  std::size_t kv_tokens() const {
    if (!is_paged()) return kv_begin_.back();
    return static_cast<std::size_t>(std::max<std::int64_t>(inputs_.pages, 0)) * problem_.tokens_per_page;
  }

  // The KV tokens that a query token of a sequence sees, but for those that its mask hides.
  TokenRange visible(std::size_t sequence, std::uint32_t token) const {
    const std::int64_t length = inputs_.kv_lengths[sequence];
    const std::int64_t own = std::max<std::int64_t>(length - q_length(sequence) + token + 1, 0);
    const std::int64_t end = problem_.mask == AttentionMask::dense ? length : own;
    return {problem_.is_windowed() ? std::max<std::int64_t>(end - problem_.window, 0) : 0,
            problem_.mask == AttentionMask::causal ? own : length};
  }

  // Whether a custom mask hides a KV token from a query token, which would see it.
  bool hides(std::size_t sequence, std::uint32_t token, std::int64_t kv_token) const {
    const std::int64_t draft = kv_token - inputs_.kv_lengths[sequence] + q_length(sequence);
    if (problem_.mask != AttentionMask::custom || draft < 0) return false;
    const std::size_t row = (q_begin(sequence) + token) * problem_.mask_words();
    return (inputs_.mask[row + static_cast<std::size_t>(draft) / 32] >> (draft % 32) & 1) == 0;
  }

  // Where the row of a token of KV begins, in elements.
  std::size_t k_row(std::size_t sequence, std::size_t token, std::size_t head) const {
    return kv_row(sequence, token, head, problem_.head_dim_qk, 0);
  }
  std::size_t v_row(std::size_t sequence, std::size_t token, std::size_t head) const {
    if (problem_.is_mla_generation()) return k_row(sequence, token, head);
    return kv_row(sequence, token, head, problem_.head_dim_v, page_table_rows(problem_) - 1);
  }

 private:
  bool is_paged() const { return problem_.layout == QkvLayout::paged_kv; }

  std::size_t kv_row(std::size_t sequence, std::size_t token, std::size_t head, std::size_t head_dim,
                     std::size_t table_row) const {
    if (!is_paged()) return ((kv_begin_[sequence] + token) * problem_.heads_kv + head) * head_dim;
    const std::size_t page_size = problem_.tokens_per_page;
    const std::size_t row = sequence * page_table_rows(problem_) + table_row;
    const std::size_t entry = row * problem_.pages_per_sequence() + token / page_size;
    return pool_offset(problem_, inputs_.page_table[entry], token % page_size, head, head_dim);
  }

  const AttentionProblem& problem_;
  const AttentionInputs& inputs_;
  std::vector<std::size_t> q_begin_;
  std::vector<std::size_t> kv_begin_;
};

}  // namespace cubinet
