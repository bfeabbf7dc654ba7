// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cubinet {

// Positions of KV tokens. Signed, as lengths on the device are: a query may stand before the first token.
struct TokenRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// The KV tokens that query token `token` of a sequence of `length` tokens sees.
inline TokenRange visible_range(const AttentionProblem& problem, std::int64_t length, std::uint32_t token) {
  const std::int64_t end = problem.mask == AttentionMask::causal
                               ? std::max<std::int64_t>(length - problem.q_len + token + 1, 0)
                               : length;
  return {problem.is_sliding() ? std::max<std::int64_t>(end - problem.window, 0) : 0, end};
}

// Where page `page`, token `token` within it and head `head` begin in a pool, in elements.
inline std::size_t pool_offset(const AttentionProblem& problem, std::int64_t page, std::size_t token,
                               std::size_t head, std::size_t head_dim) {
  const std::size_t tokens = problem.tokens_per_page;
  const std::size_t heads = problem.heads_kv;
  const std::size_t row = problem.kv_order == KvOrder::nhd ? token * heads + head : head * tokens + token;
  return (static_cast<std::size_t>(page) * tokens * heads + row) * head_dim;
}

}  // namespace cubinet
