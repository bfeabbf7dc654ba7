// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/operation.hpp>

#include <cstdint>

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

// Sets the scales of KV heads in the argument of a kernel of templates.
template <class Parameters>
void set_head_scales(KvScales scales, std::uint32_t heads_kv, const AttentionTensors& tensors,
                     Parameters& p) {
  if (scales == KvScales::none) return;
  const auto stride = [&](const DeviceTensor& tensor) -> long long {
    if (scales == KvScales::head) return 0;
    return tensor.is_contiguous() ? std::int64_t{heads_kv} : tensor.strides[0];
  };
  p.k_head_scales = tensors.k_head_scales.address;
  p.v_head_scales = tensors.v_head_scales.address;
  p.k_scales_stride = stride(tensors.k_head_scales);
  p.v_scales_stride = stride(tensors.v_head_scales);
}

}  // namespace cubinet
