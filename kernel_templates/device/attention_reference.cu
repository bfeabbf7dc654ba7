// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "attention_reference",
  "interface": 2,
  "summary": "Attention in double precision, from the definition: what other kernels are compared with where a CPU is too slow",
  "minimum_target": "sm_80",
  "parameters": [
    {"name": "dtype", "type": "dtype", "values": ["bf16", "fp16", "e4m3"], "default": "bf16",
     "summary": "element type of Q"},
    {"name": "dtype_kv", "type": "dtype", "values": ["bf16", "fp16", "e4m3"], "default": "bf16",
     "summary": "element type of K and V: that of Q, or e4m3"},
    {"name": "head_dim_qk", "type": "int", "values": [64, 128, 192, 256, 512, 576], "default": 128,
     "summary": "elements of a row of Q and K"},
    {"name": "head_dim_v", "type": "int", "values": [64, 128, 256, 512], "default": 128,
     "summary": "elements of a row of V and of the output"},
    {"name": "kv_layout", "type": "choice", "values": ["paged", "contiguous"], "default": "paged",
     "summary": "paged: a pool of pages, whose size is given at run time; contiguous: the tokens of a sequence have one stride"}
  ],
  "constraints": [
    {"require": "dtype_kv == dtype || dtype_kv == 'e4m3'",
     "message": "dtype_kv must be dtype or e4m3: no kernel has K and V of another type"}
  ],
  "kernels": [
    {"name": "attention_reference",
     "threads": "128",
     "dynamic_shared_bytes": "0",
     "parameter_bytes": 416,
     "argument": "cubinet::kernel_templates::AttentionReferenceParameters",
     "argument_header": "cubinet/kernel_templates/attention_reference_parameters.h",
     "grid": "ceil(q_len / 16), heads_q, batch"}
  ]
}
*/
// Grid: (tiles of 16 query tokens, query heads, sequences). A CTA has 128 threads, eight for each
// row. It takes 32 KV tokens at a time, 64 columns at a time, and keeps them as doubles in shared
// memory. A thread computes four logits of its row and every eighth column of its output, with an
// online softmax in double precision.
#include <cubinet/attention/rows.cuh>
#include <cubinet/kernel_templates/attention_reference_parameters.h>
#include <cubinet/math.cuh>
#include <cubinet/memory.cuh>
#include <cubinet/parameters.cuh>

namespace cubinet {
namespace {

using namespace parameters;
using attention::Sequence;
using kernel_templates::AttentionPrefillParameters;
using kernel_templates::AttentionReferenceParameters;

constexpr int kThreads = 128;
constexpr int kRows = 16;
constexpr int kTokens = 32;
constexpr int kColumns = 64;  // of a part of a row
constexpr int kLanes = kThreads / kRows;
constexpr int kStride = kColumns + 1;  // doubles, so that eight rows are in different banks
constexpr bool kPaged = kv_layout == kv_layout_values::paged;
static_assert(attention_reference_threads == kThreads, "the host's formula of the block size differs");
static_assert(attention_reference_shared_bytes == 0, "the kernel has no dynamic shared memory");

// Returns the value of an e4m3 number: exponent bias 7, no infinity, one NaN of each sign.
__device__ inline double e4m3_value(unsigned bits) {
  const int exponent = static_cast<int>(bits >> 3 & 15u);
  const int mantissa = static_cast<int>(bits & 7u) + (exponent > 0 ? 8 : 0);
  const double magnitude = (bits & 0x7fu) == 0x7fu
                               ? __longlong_as_double(0x7ff8000000000000ll)
                               : ldexp(static_cast<double>(mantissa), maximum(exponent, 1) - 10);
  return (bits & 0x80u) != 0 ? -magnitude : magnitude;
}

template <typename T>
__device__ inline double element(GlobalAddress address) {
  unsigned short bits;
  if constexpr (sizeof(T) == 1) {
    asm volatile("ld.global.u8 %0, [%1];" : "=h"(bits) : "l"(address));
    return e4m3_value(bits);
  } else {
    asm volatile("ld.global.u16 %0, [%1];" : "=h"(bits) : "l"(address));
    return unpack2<T>(bits).x;
  }
}

__device__ inline double row_sum(double value) {
  for (int offset = kLanes / 2; offset > 0; offset /= 2)
    value += __shfl_xor_sync(kAllLanes, value, offset);
  return value;
}

__device__ inline double row_maximum(double value) {
  for (int offset = kLanes / 2; offset > 0; offset /= 2)
    value = fmax(value, __shfl_xor_sync(kAllLanes, value, offset));
  return value;
}

// Addresses of K or V of one sequence and KV head.
struct KvRows {
  GlobalAddress base;
  GlobalAddress table;
  long long outer;
  long long token;

  __device__ KvRows(const AttentionPrefillParameters& p, const Sequence& sequence, GlobalAddress tensor,
                    long long outer_stride, long long token_stride, long long head_offset, bool is_v)
      : table(p.page_table + 4 * (sequence.index * p.page_table_stride + (is_v ? p.v_page_table_offset : 0))),
        outer(outer_stride),
        token(token_stride) {
    long long first = head_offset;
    if (!kPaged) {
      first += p.kv_offsets != 0 ? load_global_constant_int(p.kv_offsets + 4ull * sequence.index) * token
                                 : sequence.index * outer;
    }
    base = tensor + sizeof(dtype_kv) * first;
  }

  __device__ GlobalAddress row(const AttentionPrefillParameters& p, int position) const {
    if (!kPaged) return base + sizeof(dtype_kv) * (position * token);
    const int page = load_global_constant_int(table + 4ull * p.page_size.quotient(position));
    return base + sizeof(dtype_kv) * (page * outer + p.page_size.remainder(position) * token);
  }
};

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    attention_reference(const __grid_constant__ AttentionReferenceParameters p) {
  __shared__ double q_part[kRows][kStride];
  __shared__ double kv_part[kTokens][kStride];
  __shared__ double weights[kRows][kTokens + 1];
  const AttentionPrefillParameters& tensors = p.tensors;
  const int head = static_cast<int>(blockIdx.y);
  const int head_kv = tensors.group.quotient(head);
  const Sequence sequence(tensors, static_cast<int>(blockIdx.z));
  const int first_row = static_cast<int>(blockIdx.x) * kRows;
  if (first_row >= sequence.q_len) return;
  const int row = static_cast<int>(threadIdx.x) / kLanes;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const auto end_of = [&](int token) {
    const int own = maximum(sequence.length - sequence.q_len + token + 1, 0);
    return p.causal != 0 ? own : sequence.length;
  };
  const auto begin_of = [&](int token) { return maximum(end_of(token) - p.window, 0); };
  const int last_row = minimum(first_row + kRows, sequence.q_len) - 1;
  const int token = minimum(first_row + row, last_row);
  const int begin = begin_of(token);
  const int end = end_of(token);
  const double softmax_scale =
      p.softmax_scale * attention::k_scale<true>(tensors, sequence.index, head_kv);
  const double output_scale =
      p.output_scale * attention::v_scale<true>(tensors, sequence.index, head_kv);
  const GlobalAddress q = tensors.q + sizeof(dtype) * (sequence.first_element(tensors, tensors.q_batch_stride,
                                                                              tensors.q_token_stride) +
                                                       head * tensors.q_head_stride);
  const KvRows k(tensors, sequence, tensors.k, tensors.k_outer_stride, tensors.k_token_stride,
                 head_kv * tensors.k_head_stride, false);
  const KvRows v(tensors, sequence, tensors.v, tensors.v_outer_stride, tensors.v_token_stride,
                 head_kv * tensors.v_head_stride, true);

  double output[head_dim_v / kLanes] = {};
  double highest = -__longlong_as_double(0x7ff0000000000000ll);
  double sum = 0;
  for (int first = begin_of(first_row); first < end_of(last_row); first += kTokens) {
    const int tokens = minimum(end_of(last_row) - first, kTokens);
    double logits[kTokens / kLanes] = {};
#pragma unroll 1
    for (int column = 0; column < head_dim_qk; column += kColumns) {
      __syncthreads();
      for (int i = threadIdx.x; i < kRows * kColumns; i += kThreads) {
        const int of = minimum(first_row + i / kColumns, last_row);
        q_part[i / kColumns][i % kColumns] =
            element<dtype>(q + sizeof(dtype) * (of * tensors.q_token_stride + column + i % kColumns));
      }
      for (int i = threadIdx.x; i < tokens * kColumns; i += kThreads)
        kv_part[i / kColumns][i % kColumns] = element<dtype_kv>(k.row(tensors, first + i / kColumns) +
                                                                sizeof(dtype_kv) * (column + i % kColumns));
      __syncthreads();
#pragma unroll 4
      for (int i = 0; i < kColumns; ++i) {
        for (int j = 0; j < kTokens / kLanes; ++j)
          logits[j] += q_part[row][i] * kv_part[lane + j * kLanes][i];
      }
    }
    double newest = highest;
    for (int j = 0; j < kTokens / kLanes; ++j) {
      const int position = first + lane + j * kLanes;
      double logit = logits[j] * softmax_scale;
      if (p.soft_cap != 0) logit = p.soft_cap * tanh(logit / p.soft_cap);
      const bool seen = position >= begin && position < end;
      logits[j] = seen ? logit : -__longlong_as_double(0x7ff0000000000000ll);
      newest = fmax(newest, logits[j]);
    }
    newest = row_maximum(newest);
    const bool any = newest > -__longlong_as_double(0x7ff0000000000000ll);
    const double correction = any ? exp(highest - newest) : 1.0;
    const double offset = any ? newest : 0.0;  // NaN logits leave the maximum alone and stay NaN
    double added = 0;
    for (int j = 0; j < kTokens / kLanes; ++j) {
      const double weight = exp(logits[j] - offset);
      weights[row][lane + j * kLanes] = weight;
      added += weight;
    }
    sum = sum * correction + row_sum(added);
    highest = newest;
    for (int i = 0; i < head_dim_v / kLanes; ++i)
      output[i] *= correction;
#pragma unroll
    for (int column = 0; column < head_dim_v; column += kColumns) {
      __syncthreads();
      for (int i = threadIdx.x; i < tokens * kColumns; i += kThreads)
        kv_part[i / kColumns][i % kColumns] = element<dtype_kv>(v.row(tensors, first + i / kColumns) +
                                                                sizeof(dtype_kv) * (column + i % kColumns));
      __syncthreads();
      for (int t = 0; t < tokens; ++t) {
        // V of a token that the row does not see may be anything.
        if (first + t < begin || first + t >= end) continue;
        const double weight = weights[row][t];
#pragma unroll
        for (int i = 0; i < kColumns / kLanes; ++i)
          output[column / kLanes + i] += weight * kv_part[t][lane + i * kLanes];
      }
    }
  }

  if (first_row + row > last_row) return;
  if (tensors.sinks != 0) {
    const double sink = load_global_float(tensors.sinks + 4 * head);
    const double newest = fmax(highest, sink);
    const double correction = sum != 0 ? exp(highest - newest) : 0.0;
    sum = sum * correction + exp(sink - newest);
    for (int i = 0; i < head_dim_v / kLanes; ++i)
      output[i] *= correction;
    highest = newest;
  }
  const long long target =
      (static_cast<long long>(sequence.q_first) + token) * tensors.heads_q.divisor + head;
  // A NaN sum stays NaN.
  const double factor = sum != 0 ? output_scale / sum : 0.0;
  for (int i = 0; i < head_dim_v / kLanes; ++i)
    asm volatile("st.global.f64 [%0], %1;" ::"l"(tensors.o + 8 * (target * head_dim_v + lane + i * kLanes)),
                 "d"(output[i] * factor)
                 : "memory");
  if (lane == 0)
    asm volatile("st.global.f64 [%0], %1;" ::"l"(tensors.lse + 8 * target),
                 "d"(sum != 0 ? highest + log(sum) : -__longlong_as_double(0x7ff0000000000000ll))
                 : "memory");
}

}  // namespace cubinet
