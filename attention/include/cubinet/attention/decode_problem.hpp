// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/spec/data_type.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace cubinet {

enum class DecodeMask {
  causal,  // the last query token sees the whole KV, each earlier one a token less
  dense,   // every query token sees the whole KV
};

// How the K and the V pool lie in memory: pages, then token by token or head by head, then the head dim.
enum class KvLayout {
  nhd,  // [pages, page_size, heads_kv, head_dim]
  hnd,  // [pages, heads_kv, page_size, head_dim]
};

// One decode-attention operation over a paged KV cache, without its tensors. A plain value.
//   Q [batch, q_len, heads_q, head_dim_qk], O [batch, q_len, heads_q, head_dim_v], both contiguous;
//   query head h reads KV head h / (heads_q / heads_kv).
struct DecodeProblem {
  int batch = 1;
  int q_len = 1;  // query tokens a sequence, the newest of its KV
  int heads_q = 1;
  int heads_kv = 1;  // divides heads_q
  int head_dim_qk = 128;
  int head_dim_v = 128;
  int kv_len_max = 0;  // tokens, the query's own included
  int page_size = 64;  // tokens
  DataType dtype_q = DataType::bf16;
  DataType dtype_kv = DataType::bf16;
  DataType dtype_o = DataType::bf16;
  DecodeMask mask = DecodeMask::causal;
  std::optional<int> window = std::nullopt;           // newest tokens a query sees, itself included
  std::optional<float> softmax_scale = std::nullopt;  // nullopt: 1 / sqrt(head_dim_qk)
  KvLayout layout = KvLayout::nhd;
  // What the caller knows of the lengths when it plans; empty: all may be kv_len_max. They decide how the
  // work is divided, never what is computed: the kernel reads the lengths on the device.
  std::vector<std::int32_t> kv_lengths = {};

  int group() const { return heads_q / heads_kv; }
  int pages_per_sequence() const;  // page table entries for kv_len_max tokens, at least 1
  float scale() const;
};

// invalid_argument names the field and what it allows. What depends on the kernel (head dims, types, page
// sizes) is checked by the template when the plan's specification is resolved.
Result<void> check(const DecodeProblem& problem);

}  // namespace cubinet
