// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "attention_prefill_combine",
  "interface": 2,
  "summary": "Combines the partial results of prefill attention for rows whose KV is split",
  "minimum_target": "sm_80",
  "parameters": [
    {"name": "dtype_o", "type": "dtype", "values": ["bf16", "fp16", "fp32", "e4m3"], "default": "bf16",
     "summary": "element type of the output"},
    {"name": "head_dim_v", "type": "int", "values": [64, 72, 80, 88, 96, 128, 256],
     "summary": "elements of a row of the output"},
    {"name": "mask", "type": "choice", "values": ["causal", "dense"], "default": "causal",
     "summary": "the mask of the attention kernel"},
    {"name": "sliding_window", "type": "bool", "default": false,
     "summary": "a query sees only the newest tokens; their number is given at run time"}
  ],
  "constraints": [
    {"require": "!sliding_window || mask != 'dense'",
     "message": "sliding_window needs mask causal: the window ends at the query's own position"}
  ],
  "kernels": [
    {"name": "attention_prefill_combine",
     "threads": "128",
     "parameter_bytes": 768,
     "argument": "cubinet::kernel_templates::AttentionPrefillMapParameters",
     "argument_header": "cubinet/kernel_templates/attention_prefill_parameters.h",
     "grid": "(ceil(q_len * heads_q * head_dim_v / 1024), batch), head_dim_v rounded up to a power of two",
     "programmatic_launch": true}
  ],
  "row": {
    "qkv_layout": "'contiguous_kv'",
    "kernel_type": "'context'",
    "mask": "mask == 'causal' && sliding_window ? 'sliding_or_chunked_causal' : mask",
    "tile_scheduler": "'static'",
    "multi_ctas_kv_mode": "'gmem_separate'",
    "data_type_o": "dtype_o",
    "head_dim_qk": "head_dim_v",
    "head_dim_v": "head_dim_v",
    "head_dim_per_cta_v": "head_dim_v"
  }
}
*/
// Grid: (ceil(rows of a sequence / rows of a CTA), batch) CTAs of 128 threads. A group of kLanes
// adjacent lanes combines one row, and each lane has 8 of its columns. Lanes after the last column
// do nothing. A row with one split is complete already and is skipped. The argument is that of the
// attention kernel; the maps are not used.
#include <cubinet/attention/partials.cuh>
#include <cubinet/attention/splits.cuh>
#include <cubinet/parameters.cuh>
#include <cubinet/pdl.cuh>

namespace cubinet::attention_prefill_combine {

using namespace parameters;
using namespace attention;
using kernel_templates::AttentionPrefillMapParameters;
using kernel_templates::AttentionPrefillParameters;

struct Shape {
  static constexpr bool kCausal = mask == mask_values::causal;
  static constexpr bool kSlidingWindow = sliding_window;
};
constexpr int kThreads = 128;
constexpr int kElements = 8;  // of a lane
constexpr int kLanes = power_of_two(2 * (head_dim_v / kElements) - 1);

static_assert(attention_prefill_combine_threads == kThreads, "the host's formula of the CTA size differs");
static_assert(attention_prefill_combine_shared_bytes == 0, "the kernel uses no shared memory");

// Adds the partial results of some columns of a row. Several loads are in flight at once.
__device__ inline void add_splits(PartialSum<kElements>& sum, const AttentionPrefillParameters& p,
                                  const RowSplits& splits, long long first_row, long long split_rows,
                                  int column) {
  constexpr int kAtOnce = 4;
#pragma unroll 1
  for (int first = splits.first; first <= splits.last; first += kAtOnce) {
    float lse[kAtOnce];
    uint4 elements[kAtOnce][kElements / 4];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const bool exists = first + k <= splits.last;
      const long long row = first_row + (first + k) * split_rows;
      lse[k] = load_global_float_if(exists, p.partial_lse + 4 * row, negative_infinity());
#pragma unroll
      for (int i = 0; i < kElements / 4; ++i)
        elements[k][i] =
            load_global_16_or_zero(p.partial_o + 4 * (head_dim_v * row + column) + 16 * i, exists);
    }
    sum.add(lse, elements);
  }
}

// Combines the row of this thread. Before the wait, it reads only data that the previous kernel has
// read: this kernel starts after that kernel's own wait.
__device__ inline void combine_row(const AttentionPrefillParameters& p) {
  const int row = static_cast<int>(blockIdx.x) * (kThreads / kLanes) + static_cast<int>(threadIdx.x) / kLanes;
  const int column = static_cast<int>(threadIdx.x) % kLanes * kElements;
  const Sequence sequence(p, static_cast<int>(blockIdx.y));
  const int token = p.heads_q.quotient(row);
  const int head = row - token * p.heads_q.divisor;
  const auto visible = VisibleOf<Shape>::to_token(p, sequence, token);
  const RowSplits splits(p, visible.begin, visible.end);
  wait_for_prerequisites();
  if (token >= sequence.q_len || splits.is_one() || column >= head_dim_v) return;

  PartialSum<kElements> sum;
  add_splits(sum, p, splits, partial_row(p, 0, sequence.index, token, head), partial_row(p, 1, 0, 0, 0),
             column);
  RowEpilogue<false> epilogue(p, head, 1.0f);  // partial results include the scale of V
  const float lse = epilogue.add_sink(sum.normalise());
#pragma unroll
  for (int i = 0; i < kElements; ++i)
    sum.values[i] *= epilogue.factor;
  const OutputRow output{sequence, token, head};
  store_elements<dtype_o>(output.address<dtype_o>(p) + column * sizeof(dtype_o), sum.values);
  if (column == 0 && p.lse != 0)
    store_global_float(
        p.lse + 4 * ((static_cast<long long>(sequence.q_first) + token) * p.heads_q.divisor + head),
        lse * kLn2);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    attention_prefill_combine(const __grid_constant__ AttentionPrefillMapParameters p) {
  launch_dependents();
  combine_row(p.p);
}

}  // namespace cubinet::attention_prefill_combine
