// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/reference.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cubinet {

// A range of KV token positions. Signed like the lengths on the device: a query may precede the
// first token.
struct TokenRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Returns the offset in a pool, in elements, of a token and head of a page. `token` counts within
// the page.
inline std::size_t pool_offset(const AttentionProblem& problem, std::int64_t page, std::size_t token,
                               std::size_t head, std::size_t head_dim) {
  const std::size_t tokens = problem.tokens_per_page;
  const std::size_t heads = problem.heads_kv;
  const std::size_t row = problem.kv_order == KvOrder::nhd ? token * heads + head : head * tokens + token;
  return (static_cast<std::size_t>(page) * tokens * heads + row) * head_dim;
}

// Returns the rows of a sequence in the page table: one, or one for K and one for V.
inline std::size_t page_table_rows(const AttentionProblem& problem) {
  return problem.separate_page_tables ? 2 : 1;
}

// Returns the elements of AttentionInputs::k_head_scales.
inline std::size_t head_scale_count(const AttentionProblem& problem) {
  if (problem.kv_scales == KvScales::none) return 0;
  return problem.kv_scales == KvScales::sequence ? std::size_t{problem.batch} * problem.heads_kv
                                                 : problem.heads_kv;
}

// Returns the scale of a KV head of a sequence. `scales` are AttentionInputs::k_head_scales or
// v_head_scales.
inline float head_scale(const AttentionProblem& problem, const std::vector<float>& scales,
                        std::size_t sequence, std::size_t head_kv) {
  if (problem.kv_scales == KvScales::none) return 1;
  return scales[problem.kv_scales == KvScales::sequence ? sequence * problem.heads_kv + head_kv : head_kv];
}

// The rows of Q, K and V of each sequence, and the visibility of tokens. The constructor reads the
// lengths; the page table is read on each query. Owns neither problem nor inputs. REQUIRES: one
// length per sequence.
class SequenceRows {
 public:
  SequenceRows(const AttentionProblem& problem, const AttentionInputs& inputs)
      : problem_(problem), inputs_(inputs), q_begin_(problem.batch + 1), kv_begin_(problem.batch + 1) {
    for (std::size_t b = 0; b < problem.batch; ++b) {
      q_begin_[b + 1] = q_begin_[b] + q_length(b);
      const std::size_t kv_tokens = problem.layout == QkvLayout::contiguous_kv
                                        ? problem.kv_len
                                        : static_cast<std::size_t>(inputs.kv_lengths[b]);
      kv_begin_[b + 1] = kv_begin_[b] + kv_tokens;
    }
  }

  std::uint32_t q_length(std::size_t sequence) const {
    return problem_.ragged_q ? static_cast<std::uint32_t>(inputs_.q_lengths[sequence]) : problem_.q_len;
  }
  // Returns the first token of a sequence in Q and O.
  std::size_t q_begin(std::size_t sequence) const { return q_begin_[sequence]; }
  std::size_t q_tokens() const { return q_begin_.back(); }
  // Returns the first token of a sequence in K and V without pages.
  std::size_t kv_begin(std::size_t sequence) const { return kv_begin_[sequence]; }
  // Returns the rows of a head in K or in V: of all pages, or of all contiguous sequences.
  std::size_t kv_tokens() const {
    if (!is_paged()) return kv_begin_.back();
    return static_cast<std::size_t>(std::max<std::int64_t>(inputs_.pages, 0)) * problem_.tokens_per_page;
  }

  // Returns the KV tokens that a query token of a sequence sees, before the custom mask.
  TokenRange visible(std::size_t sequence, std::uint32_t token) const {
    const std::int64_t length = inputs_.kv_lengths[sequence];
    const std::int64_t own = std::max<std::int64_t>(length - q_length(sequence) + token + 1, 0);
    const std::int64_t end = problem_.mask == AttentionMask::dense ? length : own;
    return {problem_.is_windowed() ? std::max<std::int64_t>(end - problem_.window, 0) : 0,
            problem_.mask == AttentionMask::causal ? own : length};
  }

  // Returns whether a custom mask hides an otherwise visible KV token from a query token.
  bool hides(std::size_t sequence, std::uint32_t token, std::int64_t kv_token) const {
    const std::int64_t draft = kv_token - inputs_.kv_lengths[sequence] + q_length(sequence);
    if (problem_.mask != AttentionMask::custom || draft < 0) return false;
    const std::size_t row = (q_begin(sequence) + token) * problem_.mask_words();
    return (inputs_.mask[row + static_cast<std::size_t>(draft) / 32] >> (draft % 32) & 1) == 0;
  }

  // Return the offset of the row of a KV token, in elements.
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
