// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/decode_problem.hpp>

#include <algorithm>

namespace cubinet {

struct TokenRange {
  int begin = 0;
  int end = 0;
};

// The KV tokens that query token `token` of a sequence of `length` tokens sees.
inline TokenRange visible_range(const DecodeProblem& problem, int length, int token) {
  const int end =
      problem.mask == DecodeMask::causal ? std::max(length - problem.q_len + token + 1, 0) : length;
  return {problem.window ? std::max(end - *problem.window, 0) : 0, end};
}

// Where page `page`, token `token` within it and head `head` begin in a pool, in elements.
inline std::size_t pool_offset(const DecodeProblem& problem, std::int64_t page, int token, int head,
                               int head_dim) {
  const auto rows = static_cast<std::size_t>(problem.page_size) * static_cast<std::size_t>(problem.heads_kv);
  const auto t = static_cast<std::size_t>(token);
  const auto h = static_cast<std::size_t>(head);
  const std::size_t row = problem.layout == KvLayout::nhd
                              ? t * static_cast<std::size_t>(problem.heads_kv) + h
                              : h * static_cast<std::size_t>(problem.page_size) + t;
  return (static_cast<std::size_t>(page) * rows + row) * static_cast<std::size_t>(head_dim);
}

}  // namespace cubinet
