// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/operation.hpp>

namespace cubinet {

// The strides of one tensor in a kernel's argument, from the outermost dimension in. A tensor's own
// strides take precedence over those of a contiguous tensor.
struct StrideFields {
  long long& outer;
  long long& middle;
  long long& inner;

  void set(long long first, long long second, long long third) const {
    outer = first;
    middle = second;
    inner = third;
  }
  // Changes nothing if the tensor is contiguous.
  void set(const DeviceTensor& tensor) const {
    if (!tensor.is_contiguous()) set(tensor.strides[0], tensor.strides[1], tensor.strides[2]);
  }
  // Sets those of [batch, q_len, heads, columns].
  void set_rows(const AttentionProblem& problem, long long heads, long long columns) const {
    set(problem.q_len * heads * columns, heads * columns, columns);
  }
  // Sets those of K or V whose outermost dimension, a page or a sequence, has `tokens` tokens of
  // this order.
  void set_kv(const AttentionProblem& problem, KvOrder order, long long tokens, long long columns) const {
    const long long heads = problem.heads_kv;
    const bool by_token = order == KvOrder::nhd;
    set(tokens * heads * columns, by_token ? heads * columns : columns,
        by_token ? columns : tokens * columns);
  }
};

}  // namespace cubinet
