// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "attention_decode_wgmma",
  "interface": 3,
  "summary": "Decode attention over a paged KV cache of 16 bits, tiles of 64 rows: products by wgmma",
  "base": "attention_decode.base.json",
  "minimum_target": "sm_90a",
  "parameters": [
    {"name": "dtype_q", "values": ["bf16", "fp16"]},
    {"name": "dtype_kv", "values": ["bf16", "fp16"], "summary": "element type of K and V: dtype_q"},
    {"name": "dtype_o", "summary": "element type of the output"},
    {"name": "tile_size_q", "values": [64], "default": 64},
    {"name": "tile_size_kv", "summary": "KV tokens of one step"},
    {"name": "numerics", "type": "choice", "values": ["fast", "invariant"], "default": "fast",
     "summary": "invariant: a row has the same bits in every batch and in every kernel with invariant numerics (docs/arithmetic.md)"}
  ],
  "constraints": [
    {"require": "numerics == 'fast' || head_dim_v <= 128",
     "message": "numerics invariant needs head_dim_v up to 128: a thread has no registers for a segment and the ones before it"},
    {"require": "dtype_kv == dtype_q",
     "message": "dtype_kv must be dtype_q: the tensor cores multiply one type"}
  ],
  "kernels": [
    {"name": "attention_decode_wgmma",
     "threads": "128",
     "dynamic_shared_bytes": "tile_size_q * head_dim_qk * 2 + max(tile_size_kv * stages * (head_dim_qk + head_dim_v) * 2, tile_size_q * (head_dim_v + 10) * 4) + (numerics == 'invariant' ? 64 : 0)",
     "parameter_bytes": 384,
     "argument": "cubinet::kernel_templates::AttentionDecodeParameters",
     "argument_header": "cubinet/kernel_templates/attention_decode_parameters.h",
     "grid": "blocks * heads_kv",
     "programmatic_launch": true}
  ],
  "row": {
    "invariant": "numerics == 'invariant'"
  }
}
*/
// Grid: parameters.blocks * heads_kv CTAs. Work division and partial results are those of
// attention_decode. Products use Hopper's wgmma.
//
// A CTA is one warpgroup of 128 threads. It multiplies 64 rows by 64 tokens at a time; each of its
// four warps owns 16 rows. All threads copy K and V into one ring of stages, which the warps share.
// Copies are issued while products are in flight. With invariant numerics a unit of work is a
// segment, as in attention_decode.
#include <cubinet/attention/merge.cuh>
#include <cubinet/attention/q.cuh>
#include <cubinet/attention/segment_fold.cuh>
#include <cubinet/attention/segments.cuh>
#include <cubinet/attention/store_tile.cuh>
#include <cubinet/attention/work_division.cuh>
#include <cubinet/attention_decode_wgmma/product.cuh>
#include <cubinet/attention_decode_wgmma/shape.cuh>
#include <cubinet/attention_decode_wgmma/stream.cuh>
#include <cubinet/pdl.cuh>

namespace cubinet::attention_decode_wgmma {

using MergeBuffer = MergeBufferOf<Shape, false>;
using Visible = VisibleOf<Shape>;
using WorkDivision = WorkDivisionOf<Shape>;

// A lane's two rows of a work item: their masks and the scales of their logits.
class LaneRows {
 public:
  // `first_row` is the first row of this warp in the tile.
  __device__ LaneRows(const AttentionDecodeParameters& p, const PackedRows& rows, const Sequence& sequence,
                      int first_row)
      : visible_{Visible::to_token(p, sequence, rows.token(first_row + lane() / 4)),
                 Visible::to_token(p, sequence, rows.token(first_row + lane() / 4 + 8))},
        seen_by_all_(Visible::to_all_rows(p, sequence, rows)),
        draft_mask_(p, sequence, rows, first_row + lane() / 4),
        scale_log2_{softmax_scale_log2(p), softmax_scale_log2(p)},
        soft_cap_(p, scale_log2_) {}

  // Bounds and masks the logits of a slice.
  __device__ void prepare(FragmentD (&scores)[kTilesS], int token) const {
    soft_cap_.apply(scores);
    if (!seen_by_all_.holds_all<kSlice>(token))
      mask_scores<Shape>(scores, visible_, draft_mask_, token, lane());
  }
  __device__ const float (&scale_log2() const)[2] { return scale_log2_; }

 private:
  __device__ static int lane() { return threadIdx.x % 32; }

  Range visible_[2];
  Range seen_by_all_;
  DraftMask draft_mask_;
  float scale_log2_[2];
  SoftCap<soft_cap> soft_cap_;
};

// Processes the slices from `first` to `end` of a work item.
__device__ inline void process_slices(RowState& state, WarpgroupStream& stream, const LaneRows& rows,
                                      SharedAddress q_shared, int first, int end) {
  Weights weights{};
#pragma unroll 1
  for (int i = first; i < end; ++i) {
    FragmentD scores[kTilesS];
    wgmma_wait<0>(state.output, weights.steps);
    stream.wait();
    start_qk(scores, q_shared, stream.k_slice());
    stream.work_beside_qk(i);
    wgmma_wait<0>(scores);

    rows.prepare(scores, stream.token(i));
    weights = softmax(state, scores, rows.scale_log2());

    stream.wait();
    start_pv(state, weights, stream.v_slice());
    stream.work_beside_pv(i);
  }
  wgmma_wait<0>(state.output, weights.steps);
}

__device__ inline void process_item(const AttentionDecodeParameters& p, const WorkDivision& division,
                                    WorkItem& item, int head_kv, SharedAddress q_shared) {
  const Sequence& sequence = item.sequence;
  PackedRows rows = WorkDivision::rows_of(p, item);
  const Range seen = Visible::to_any_row(p, sequence, rows);
  WarpgroupStream stream(p, sequence, head_kv, WorkDivision::tokens_of<kSlice>(p, item, seen), seen.begin,
                         q_shared + Shape::kQBytes);
  copy_q<Shape, LayoutQ>(p, rows, sequence, head_kv, q_shared);
  async_copy_commit();
  stream.fill();
  stream.wait_for_earlier_copies();
  // There are no registers to keep the item in with invariant numerics.
  const SharedAddress item_shared = q_shared + Shape::kSharedBytes - Shape::kItemBytes;
  if (Shape::kInvariant && threadIdx.x == 0) store_shared_object(item_shared, item);
  __syncthreads();

  const int first_row = static_cast<int>(threadIdx.x) / 32 * Shape::kWarpRows;
  RowState state{};
  state.maximum[0] = state.maximum[1] = negative_infinity();
  const LaneRows lane_rows(p, rows, sequence, first_row);
  if constexpr (Shape::kInvariant) {
    ItemSegmentsOf<Shape> segments(p, rows, item, head_kv, first_row, 0);
#pragma unroll 1
    for (int first = 0; first < stream.count();) {
      const int token = stream.token(first);
      const int end =
          minimum(stream.count(), first + (kInvariantSegment - token % kInvariantSegment) / kSlice);
      segments.begin_segment(token);
      process_slices(state, stream, lane_rows, q_shared, first, end);
      segments.end_segment(state);
      first = end;
    }
    load_shared_object(item_shared, item);
    rows = WorkDivision::rows_of(p, item);
    segments.finish();
    async_copy_wait<0>();
    fold_shared_tile(p, rows, division, item, head_kv);
    __syncthreads();
    return;
  }
  process_slices(state, stream, lane_rows, q_shared, 0, stream.count());
  async_copy_wait<0>();
  __syncthreads();
  const MergeBuffer merge(q_shared + Shape::kQBytes);
  merge.store(state, 0, first_row, threadIdx.x % 32);
  __syncthreads();
  store_work_item(p, merge, rows, division, item, head_kv);
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(Shape::kThreads, kBlocksPerSm)
    attention_decode_wgmma(const __grid_constant__ AttentionDecodeParameters p) {
  extern __shared__ __align__(1024) unsigned char shared[];
  prefetch_look_ups<Shape>(p);
  wait_for_prerequisites();
  launch_dependents();

  const int index = static_cast<int>(blockIdx.x);
  const int block = p.heads_kv.quotient(index);  // adjacent CTAs: KV heads of the same tokens
  const int head_kv = index - block * p.heads_kv.divisor;
  const WorkDivision division(p, block);
  // There are no registers to keep the item in, from which the next one would be found faster.
#pragma unroll 1
  for (int unit = division.begin(); unit < division.end();) {
    WorkItem item = division.item(p, unit);
    process_item(p, division, item, head_kv, shared_address(shared));
    unit = item.end;
  }
}

}  // namespace cubinet::attention_decode_wgmma
