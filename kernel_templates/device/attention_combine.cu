// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "attention_combine",
  "interface": 2,
  "summary": "Combines the partial results of the decode kernels for tiles whose KV several thread blocks share",
  "minimum_target": "sm_80",
  "parameters": [
    {"name": "dtype_o", "type": "dtype", "values": ["bf16", "fp16", "fp32", "e4m3"], "default": "bf16",
     "summary": "element type of the output; e4m3 needs sm_89 or later"},
    {"name": "converts_kv", "type": "bool", "default": false,
     "summary": "true if KV is e4m3 and multiplied as fp16; the output is then multiplied by the scale of the conversion"},
    {"name": "head_dim_v", "type": "int", "values": [64, 128, 256, 512],
     "summary": "elements of a row of the output"},
    {"name": "tile_size_q", "type": "int", "values": [16, 32, 48, 64, 96], "default": 16,
     "summary": "rows of the Q tile of the decode kernel"},
    {"name": "cluster_size", "type": "int", "values": [1, 2], "default": 1,
     "summary": "thread blocks of a cluster of the decode kernel"},
    {"name": "mask", "type": "choice", "values": ["causal", "dense", "custom"], "default": "causal",
     "summary": "the mask of the decode kernel"},
    {"name": "sliding_window", "type": "bool", "default": false,
     "summary": "a query sees only the newest tokens; their number is given at run time"},
    {"name": "slice", "type": "int", "values": [16, 32, 64, 512], "default": 16,
     "summary": "with a window, thread blocks of the decode kernel begin to read at a multiple of this number of tokens"},
    {"name": "numerics", "type": "choice", "values": ["fast", "invariant"], "default": "fast",
     "summary": "invariant: folds segments, which are not normalised, in their order (docs/arithmetic.md)"}
  ],
  "constraints": [
    {"require": "!sliding_window || mask != 'dense'",
     "message": "sliding_window needs mask causal or custom: the window ends at the query's own position"},
    {"require": "sliding_window || mask != 'custom'",
     "message": "mask custom needs sliding_window: one kernel serves with a window and without"},
    {"require": "sliding_window || slice == 16",
     "message": "slice needs sliding_window: without a window every sequence begins with its first token"},
    {"require": "!sliding_window || (numerics == 'invariant') == (slice == 512)",
     "message": "slice must be 512 with numerics invariant and a window, and less otherwise: a segment has 512 tokens"},
    {"require": "numerics == 'fast' || !converts_kv && cluster_size == 1",
     "message": "numerics invariant needs KV of 16 bits and cluster_size 1: no other kernel has it"}
  ],
  "kernels": [
    {"name": "attention_combine",
     "threads": "head_dim_v > 256 ? 256 : 128",
     "parameter_bytes": 384,
     "argument": "cubinet::kernel_templates::AttentionDecodeParameters",
     "argument_header": "cubinet/kernel_templates/attention_decode_parameters.h",
     "grid": "(heads_q, q_len, batch)",
     "programmatic_launch": true}
  ],
  "row": {
    "qkv_layout": "'paged_kv'",
    "kernel_type": "'keeps'",
    "mask": "mask == 'causal' && sliding_window ? 'sliding_or_chunked_causal' : mask",
    "tile_scheduler": "'static'",
    "multi_ctas_kv_mode": "'gmem_separate'",
    "data_type_k": "converts_kv ? 'e4m3' : 'fp16'",
    "data_type_v": "converts_kv ? 'e4m3' : 'fp16'",
    "data_type_o": "dtype_o",
    "tile_size_q": "tile_size_q",
    "tile_size_kv": "min(slice, 256)",
    "step_q": "tile_size_q * cluster_size",
    "head_dim_qk": "head_dim_v",
    "head_dim_v": "head_dim_v",
    "head_dim_per_cta_v": "head_dim_v",
    "groups_tokens_heads_q": true,
    "groups_heads_q": true,
    "invariant": "numerics == 'invariant'"
  }
}
*/
// Grid: (heads_q, q_len, batch) CTAs. Each CTA combines one output row. A CTA writes nothing if a
// single CTA of the previous kernel processed the row's whole tile, because that CTA wrote the row.
//
// A CTA has 128 threads, or 256 threads for 512 columns. That is enough to load all partial results
// of a row of a short sequence at once; more threads only cost time if there are many rows with few
// partial results. The threads form kWorkers workers. Each worker adds every kWorkers-th partial
// result, and the threads of a worker divide the elements of the row. The workers exchange their
// sums through shared memory; then each thread stores some elements of the row.
//
// With invariant numerics each thread folds all segments of its columns in their order.
#include <cubinet/attention/segment_fold.cuh>
#include <cubinet/parameters.cuh>
#include <cubinet/pdl.cuh>

namespace cubinet::attention_combine {

using namespace parameters;
using namespace attention;

struct Shape {
  static constexpr int kHeadDimV = head_dim_v;
  static constexpr int kTileQ = tile_size_q;
  static constexpr int kClusterSize = cluster_size;
  static constexpr int kSlice = slice;
  static constexpr bool kInvariant = numerics == numerics_values::invariant;
  static constexpr bool kCausal = mask == mask_values::causal;
  static constexpr bool kSlidingWindow = sliding_window;
  static constexpr int kThreads = kHeadDimV > 256 ? 256 : 128;
};
constexpr int kBlocksPerSm = 1024 / Shape::kThreads;

using PartialRows = PartialRowsOf<Shape>;
using PartialSlots = PartialSlotsOf<Shape>;

#if __CUDA_ARCH__ < 890
static_assert(sizeof(dtype_o) != 1, "dtype_o e4m3 needs a target from sm_89 on");
#endif
static_assert(attention_combine_threads == Shape::kThreads, "the host's formula of the CTA size differs");
static_assert(attention_combine_shared_bytes == 0, "the kernel uses static shared memory alone");

// Combines the partial results of one row.
class RowCombine {
 public:
  static constexpr int kLanes = head_dim_v > 256 ? 64 : minimum(32, head_dim_v / 4);
  static constexpr int kElements = head_dim_v / kLanes;
  static constexpr int kWorkers = Shape::kThreads / kLanes;
  using Epilogue = RowEpilogue<converts_kv>;

  // The sums that the workers exchange.
  struct Memory {
    float4 values[kWorkers][head_dim_v / 4];
    float2 extremes[kWorkers];  // (largest LSE, sum of the weights relative to it)
  };

  __device__ static void run(const AttentionDecodeParameters& p, const PartialRows& partial,
                             const PartialSlots& slots, int row_of_tile, const OutputRow& row,
                             const Epilogue& epilogue, Memory& memory) {
    const int worker = threadIdx.x / kLanes;
    const int lane = threadIdx.x % kLanes;
    PartialSum<kElements> sums[1];
    const RowPart part[1] = {{row_of_tile, lane * kElements, true}};
    add_partials(sums, part, partial, slots, worker, kWorkers);
    const PartialSum<kElements>& sum = sums[0];
#pragma unroll
    for (int i = 0; i < kElements; i += 4)
      memory.values[worker][(lane * kElements + i) / 4] =
          make_float4(sum.values[i], sum.values[i + 1], sum.values[i + 2], sum.values[i + 3]);
    if (lane == 0) memory.extremes[worker] = make_float2(sum.highest, sum.total);
    __syncthreads();
    store(p, row, epilogue, memory);
  }

 private:
  __device__ static void store(const AttentionDecodeParameters& p, const OutputRow& row,
                               const Epilogue& epilogue, const Memory& memory) {
    constexpr int kStored = minimum(16 / int{sizeof(dtype_o)}, 8);  // 16 would need too many registers
    const int first = threadIdx.x * kStored;
    if (first >= head_dim_v) return;
    PartialSum<kStored> sum;
#pragma unroll 4
    for (int w = 0; w < kWorkers; ++w)
      sum.highest = fmaxf(sum.highest, memory.extremes[w].x);
    const float offset = sum.highest == negative_infinity() ? 0.0f : sum.highest;
#pragma unroll 4
    for (int w = 0; w < kWorkers; ++w) {
      const float2 extremes = memory.extremes[w];
      const float weight = exp2_approx(extremes.x - offset);
      sum.total = fmaf(weight, extremes.y, sum.total);
#pragma unroll
      for (int i = 0; i < kStored; i += 4) {
        const float4 part = memory.values[w][(first + i) / 4];
        sum.values[i] = fmaf(weight, part.x, sum.values[i]);
        sum.values[i + 1] = fmaf(weight, part.y, sum.values[i + 1]);
        sum.values[i + 2] = fmaf(weight, part.z, sum.values[i + 2]);
        sum.values[i + 3] = fmaf(weight, part.w, sum.values[i + 3]);
      }
    }
    const float lse = sum.normalise();
    store_output<dtype_o>(p, row, first, sum.values, epilogue, lse);
  }
};

// Folds the segments of one row in ascending order.
class SegmentFold {
 public:
  static constexpr int kElements = divide_up(head_dim_v, Shape::kThreads);  // columns of a thread

  // The folded row, so that each thread can store adjacent elements.
  struct Memory {
    float4 values[head_dim_v / 4];
  };

  __device__ static void run(const AttentionDecodeParameters& p, const PartialRows& partial,
                             const PartialSlots& slots, int row_of_tile, const OutputRow& row,
                             Memory& memory) {
    // Threads without a column compute the last ones again.
    const int first = minimum(static_cast<int>(threadIdx.x) * kElements, head_dim_v - kElements);
    FoldedRowPart<kElements> folded;
    folded.add(partial, slots, {row_of_tile, first, true});
#pragma unroll
    for (int i = 0; i < kElements; ++i)
      reinterpret_cast<float*>(memory.values)[first + i] = folded.values[i];
    __syncthreads();
    store(p, row, folded.fold, memory);
  }

 private:
  __device__ static void store(const AttentionDecodeParameters& p, const OutputRow& row, const RowFold& fold,
                               const Memory& memory) {
    constexpr int kStored = minimum(16 / int{sizeof(dtype_o)}, 8);
    const int first = static_cast<int>(threadIdx.x) * kStored;
    if (first >= head_dim_v) return;
    const FinishedRow finished(RowEpilogue<false>(p, row.head, 1.0f), fold);
    float stored[kStored];
#pragma unroll
    for (int i = 0; i < kStored; i += 4) {
      const float4 part = memory.values[(first + i) / 4];
      stored[i] = finished.normalised(part.x);
      stored[i + 1] = finished.normalised(part.y);
      stored[i + 2] = finished.normalised(part.z);
      stored[i + 3] = finished.normalised(part.w);
    }
    store_elements<dtype_o>(row.address<dtype_o>(p) + first * sizeof(dtype_o), stored);
    if (first == 0 && p.lse != 0) store_global_float(p.lse + 4 * row.index(p), finished.lse);
  }
};

// Before the wait, the kernel reads only data that the previous kernel has read: this kernel starts
// after that kernel's own wait.
extern "C" __global__ void __launch_bounds__(Shape::kThreads, kBlocksPerSm)
    attention_combine(const __grid_constant__ AttentionDecodeParameters p) {
  launch_dependents();
  const int head = static_cast<int>(blockIdx.x);
  const int token = static_cast<int>(blockIdx.y);
  const Sequence sequence(p, static_cast<int>(blockIdx.z));
  const int head_kv = p.group.quotient(head);
  const int packed = token * p.group.divisor + head - head_kv * p.group.divisor;
  // More loads at once leave too few registers on 9.0; so do two besides a scale of the KV head.
  const WorkDivisionOf<Shape, converts_kv ? 1 : 2> division(p, 0);
  const PartialSlots slots(p, division.tile(p, sequence, packed / tile_size_q), division.share());
  // Only KV of e4m3 has scales of KV heads.
  const RowCombine::Epilogue epilogue(p, head, v_scale<converts_kv>(p, sequence.index, head_kv));
  wait_for_prerequisites();
  if (token >= sequence.q_len || slots.count <= 1) return;
  const PartialRows partial(p, head_kv);
  const OutputRow row{sequence, token, head};
  if constexpr (Shape::kInvariant) {
    __shared__ SegmentFold::Memory memory;
    SegmentFold::run(p, partial, slots, packed % tile_size_q, row, memory);
  } else {
    __shared__ RowCombine::Memory memory;
    RowCombine::run(p, partial, slots, packed % tile_size_q, row, epilogue, memory);
  }
}

}  // namespace cubinet::attention_combine
