// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "attention_merge",
  "interface": 1,
  "summary": "Merges attention over one part of the KV with attention over the rest, by their log-sum-exps",
  "minimum_target": "sm_80",
  "parameters": [
    {"name": "dtype", "type": "dtype", "values": ["bf16", "fp16", "fp32"], "default": "bf16",
     "summary": "element type of the output of each part"},
    {"name": "dtype_o", "type": "dtype", "values": ["bf16", "fp16", "fp32", "e4m3"], "default_expression": "dtype",
     "summary": "element type of the merged output"}
  ],
  "kernels": [
    {"name": "attention_merge",
     "threads": "256",
     "dynamic_shared_bytes": "0",
     "parameter_bytes": 128,
     "argument": "cubinet::kernel_templates::AttentionMergeParameters",
     "argument_header": "cubinet/kernel_templates/attention_merge_parameters.h",
     "grid": "ceil(rows * 2^lanes_log2 / 256)",
     "programmatic_launch": true}
  ]
}
*/
// Grid: ceil((rows << lanes_log2) / 256) CTAs of 256 threads. The lanes of a row belong to one warp
// and process 8 elements at a time. The result may overwrite one of the parts: each lane reads the
// elements that it writes, and all lanes of a row read its LSEs before any lane writes one.
#include <cubinet/elements.cuh>
#include <cubinet/kernel_templates/attention_merge_parameters.h>
#include <cubinet/math.cuh>
#include <cubinet/memory.cuh>
#include <cubinet/parameters.cuh>
#include <cubinet/pdl.cuh>

namespace cubinet {
namespace {

using namespace parameters;
using kernel_templates::AttentionMergeParameters;
using kernel_templates::AttentionMergePart;

constexpr int kThreads = 256;
constexpr int kVector = 8;  // elements that a lane processes at a time

static_assert(attention_merge_threads == kThreads, "the host's formula of the block size differs");
static_assert(attention_merge_shared_bytes == 0, "the kernel uses no shared memory");

// The 8 elements of a lane: one 16-byte vector, or two.
template <typename Element>
struct Elements {
  static constexpr int kVectors = kVector / Vector16<Element>::kElements;
  uint4 bits[kVectors];

  __device__ explicit Elements(GlobalAddress address) {
#pragma unroll
    for (int i = 0; i < kVectors; ++i)
      bits[i] = load_global_16(address + 16 * i);
  }
  // Adds the elements times `weight`. Skips the values if the weight is 0, because a part without
  // weight may hold NaN.
  __device__ void add_to(float (&sums)[kVector], float weight) const {
    float values[kVector];
#pragma unroll
    for (int i = 0; i < kVectors; ++i)
      Vector16<Element>::unpack(bits[i], values + i * Vector16<Element>::kElements);
#pragma unroll
    for (int i = 0; i < kVector; ++i)
      sums[i] = fmaf(weight, weight == 0.0f ? 0.0f : values[i], sums[i]);
  }
};

__device__ inline long long first_element(const AttentionMergePart& part, int token, int head) {
  return token * part.token_stride + head * part.head_stride;
}

}  // namespace
}  // namespace cubinet

extern "C" __global__ void __launch_bounds__(cubinet::kThreads)
    attention_merge(const __grid_constant__ cubinet::kernel_templates::AttentionMergeParameters p) {
  using namespace cubinet;
  const int thread = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  const int row = thread >> p.lanes_log2;
  const int lane = thread & ((1 << p.lanes_log2) - 1);
  wait_for_prerequisites();
  launch_dependents();
  if (row >= p.rows) return;
  const int token = p.heads.quotient(row);
  const int head = row - token * p.heads.divisor;
  const float first_lse = load_global_float(p.first.lse + 4ull * static_cast<unsigned>(row));
  const float second_lse = load_global_float(p.second.lse + 4ull * static_cast<unsigned>(row));
  __syncwarp();
  const float highest = fmaxf(first_lse, second_lse);
  // Any finite offset makes both weights 0, and not NaN, if the row has seen no token.
  const float offset = highest == negative_infinity() ? 0.0f : highest;
  float first_weight = exp2_approx((first_lse - offset) * kLog2E);
  float second_weight = exp2_approx((second_lse - offset) * kLog2E);
  const float total = first_weight + second_weight;
  const float scale = total == 0.0f ? 0.0f : p.output_scale / total;
  first_weight *= scale;
  second_weight *= scale;
  const GlobalAddress first = p.first.o + sizeof(dtype) * first_element(p.first, token, head);
  const GlobalAddress second = p.second.o + sizeof(dtype) * first_element(p.second, token, head);
  const GlobalAddress merged = p.merged.o + sizeof(dtype_o) * first_element(p.merged, token, head);
#pragma unroll 1
  for (int i = lane; i < p.row_vectors; i += 1 << p.lanes_log2) {
    const Elements<dtype> of_first(first + i * (kVector * sizeof(dtype)));
    const Elements<dtype> of_second(second + i * (kVector * sizeof(dtype)));
    float sums[kVector] = {};
    of_first.add_to(sums, first_weight);
    of_second.add_to(sums, second_weight);
    store_elements<dtype_o>(merged + i * (kVector * sizeof(dtype_o)), sums);
  }
  if (lane == 0 && p.merged.lse != 0)
    store_global_float(p.merged.lse + 4ull * static_cast<unsigned>(row),
                       fmaf(log2_approx(total), kLn2, offset));
}
