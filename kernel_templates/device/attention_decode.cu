// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "attention_decode",
  "interface": 6,
  "summary": "Decode attention over a paged KV cache: GQA/MQA heads packed into the tile, split-KV, tensor cores",
  "base": "attention_decode.base.json",
  "minimum_target": "sm_80",
  "parameters": [
    {"name": "tile_size_kv", "values": [16, 32, 64, 128],
     "summary": "KV tokens that a thread block reads in one step; each group of warps takes 16 or 32 of them; 128 suits head dim 64, 32 suits 256"},
    {"name": "numerics", "type": "choice", "values": ["fast", "invariant"], "default": "fast",
     "summary": "invariant: a row has the same bits in every batch and in every kernel with invariant numerics (docs/arithmetic.md)"}
  ],
  "constraints": [
    {"require": "numerics == 'fast' || dtype_kv == dtype_q && dtype_q != 'e4m3'",
     "message": "numerics invariant needs KV of 16 bits: the tensor cores add products of e4m3 with fewer bits"},
    {"require": "numerics == 'fast' || tile_size_kv == 64",
     "message": "numerics invariant needs tile_size_kv 64: the maximum of a row belongs to 64 tokens"},
    {"require": "tile_size_q * tile_size_kv <= ((tile_size_q == 64 || dtype_kv == 'e4m3') && head_dim_v <= 128 ? 4096 : 2048)",
     "message": "tile_size_q * tile_size_kv must be at most 4096 if head_dim_v is at most 128 and either tile_size_q is 64 or dtype_kv is e4m3, and at most 2048 otherwise: a thread block has at most 8 warps"},
    {"require": "tile_size_kv >= ((tile_size_q == 64 || dtype_kv == 'e4m3') && head_dim_v <= 128 ? 32 : 16)",
     "message": "tile_size_kv must be at least 32 if head_dim_v is at most 128 and either tile_size_q is 64 or dtype_kv is e4m3: a warp then takes 32 tokens at a time"}
  ],
  "kernels": [
    {"name": "attention_decode",
     "threads": "tile_size_q * tile_size_kv / (tile_size_q == 32 && dtype_kv == 'e4m3' && head_dim_v <= 128 ? 32 : (tile_size_q == 64 || dtype_kv == 'e4m3') && head_dim_v <= 128 ? 16 : 8)",
     "dynamic_shared_bytes": "(numerics == 'invariant' ? tile_size_q * ((stages == 4 || stages == 6) && tile_size_q < 64 && max(head_dim_qk, head_dim_v) <= 128 && page_size > 8 ? 544 : 272) : 0) + tile_size_q * head_dim_qk * 2 + max(stages * tile_size_kv * (head_dim_qk + head_dim_v) * bytes(dtype_kv), (numerics == 'invariant' ? 0 : tile_size_q * tile_size_kv / ((tile_size_q == 64 || dtype_kv == 'e4m3') && head_dim_v <= 128 ? 32 : 16)) * (head_dim_v + 10) * 4) + (dtype_kv == 'e4m3' ? tile_size_q * 4 + (tile_size_q == 32 && head_dim_v <= 128 ? 64 : 0) : 0)",
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
// Grid: parameters.blocks * heads_kv CTAs. A tile is tile_size_q rows of Q of one sequence and KV
// head. A work item is a tile and a range of its KV. Each CTA processes an equal share of the KV of
// all sequences, one work item after the other. If several CTAs process parts of the KV of one tile
// (split-KV), each writes its partial results to global memory, and the last one to finish combines
// them. If the launch has no counters, a separate kernel (attention_combine) combines them.
//
// A CTA has kWarpsKv groups of kWarpsQ warps. The groups process different slices of kSlice (16 or
// 32) tokens. The warps of a group share its slices and process different rows. Each group has its
// own ring of stages. Each warp has its own maxima, sums and accumulators. The loop over slices has
// barriers of one group only, so no CTA-wide barrier separates the arrival of a slice from its use.
// CTA-wide barriers precede this loop, when Q is in shared memory, and follow it, when the results
// of the groups are combined. A slice starts at a multiple of its size, so it is contained in one
// page or starts at the beginning of a page.
//
// With invariant numerics a unit of work is a segment, and there is one group of warps. kParts
// warps have the same rows. They divide the tokens of a slice: each computes the logits and the
// weights of its tokens. They exchange their maxima and their weights through shared memory, and
// divide the output by columns. The CTA that begins a tile folds its segments. The other segments
// of the tile are stored, and the last CTA to finish the tile, or attention_combine, folds all in
// their order.
#include <cubinet/attention/merge.cuh>
#include <cubinet/attention/q.cuh>
#include <cubinet/attention/segment_fold.cuh>
#include <cubinet/attention/segments.cuh>
#include <cubinet/attention/store_tile.cuh>
#include <cubinet/attention/work_division.cuh>
#include <cubinet/attention_decode/product.cuh>
#include <cubinet/attention_decode/shape.cuh>
#include <cubinet/attention_decode/stream.cuh>
#include <cubinet/pdl.cuh>

namespace cubinet::attention_decode {

using ItemSegments = ItemSegmentsOf<Shape>;
using MergeBuffer = MergeBufferOf<Shape, kConvertsKv>;
using Visible = VisibleOf<Shape>;
using WorkDivision = WorkDivisionOf<Shape>;

// Returns the address of the scales of the rows of converted Q.
__device__ inline SharedAddress q_scales(SharedAddress q_shared) {
  return q_shared + Shape::kQBytes + Shape::kWorkBytes;
}

// Stores the work item to shared memory if a warp has two tiles of rows, because the loop over KV
// has no registers for it then. REQUIRES: a barrier between `spill_item` and the first
// `reload_item`, and before the next `spill_item`.
__device__ inline void spill_item(const WorkItem& item, SharedAddress q_shared) {
  if (kRowTiles == 1 || threadIdx.x != 0) return;
  store_shared_object(q_scales(q_shared) + 4 * tile_size_q, item);
}
__device__ inline WorkItem reload_item(const WorkItem& item, SharedAddress q_shared) {
  WorkItem stored = item;
  if constexpr (kRowTiles == 2) load_shared_object(q_scales(q_shared) + 4 * tile_size_q, stored);
  return stored;
}
static_assert(kRowTiles == 1 || sizeof(WorkItem) <= Shape::kItemBytes, "the item fits its memory");

// Returns the index of this warp among those that have the same rows.
__device__ inline int part_of_warp() {
  return Shape::kParts == 1 ? 0 : static_cast<int>(threadIdx.x) / 32 / Shape::kWarpsQ;
}

// The scales of a lane's two rows, `row` and `row + 8`. They are used to apply the soft cap and to
// convert the logits to base 2.
struct RowScales {
  float log2[2];
  SoftCap<soft_cap> cap;

  __device__ RowScales(const AttentionDecodeParameters& p, float scale, SharedAddress q_shared, int row)
      : log2{of_row(scale, q_shared, row), of_row(scale, q_shared, row + 8)}, cap(p, log2) {}

 private:
  __device__ static float of_row(float scale, SharedAddress q_shared, int row) {
    return kConvertsKv ? scale * (kE4m3Scale * load_shared_float(q_scales(q_shared) + 4 * row)) : scale;
  }
};

// Processes all slices of one group of warps. `first_row` is the first row of this warp in the
// tile.
__device__ inline void process_slices(RowState (&states)[kRowTiles], KvStream& stream,
                                      const AttentionDecodeParameters& p, const WorkItem& item,
                                      int head_kv, SharedAddress q_shared, int first_row) {
  const int lane = threadIdx.x % 32;
  const PackedRows rows = WorkDivision::rows_of(p, item);
  const SharedAddress q_warp = q_shared + first_row * Shape::kRowBytesQ;
  const QFragments q_fragments(q_warp, lane);
  const Range seen_by_all = Visible::to_all_rows(p, item.sequence, rows);
  // softmax_scale_log2() compares the scale with 0, which forces the load of the scale to complete
  // before the loop. Otherwise the instruction that uses the scale would wait in every slice for
  // the load of the next page number too, because both loads share a scoreboard.
  const float scale = softmax_scale_log2<Shape::kHasHeadScales>(p, item.sequence.index, head_kv);
  const RowScales kept(p, scale, q_shared, first_row + lane / 4);
  for (int i = 0; i < stream.count(); ++i) {
    const int token = stream.token(i);
    Scores scores[kRowTiles];
    stream.wait();
    multiply_qk(scores, q_fragments, q_warp, stream.k_slice(), lane);
    stream.release_k(i);

    const bool is_masked = !seen_by_all.holds_all<kSlice>(token);
    Weights weights[kRowTiles];
#pragma unroll
    for (int tile = 0; tile < kRowTiles; ++tile) {
      // Two tiles leave no registers for the scales; loading them again is cheap.
      const int row = first_row + lane / 4 + 16 * tile;
      const RowScales scales = kRowTiles == 1 ? kept : RowScales(p, scale, q_shared, row);
      scales.cap.apply(scores[tile]);
      if (is_masked) {
        const WorkItem now = reload_item(item, q_shared);
        const PackedRows rows_now = WorkDivision::rows_of(p, now);
        const Range visible[2] = {Visible::to_token(p, now.sequence, rows_now.token(row)),
                                  Visible::to_token(p, now.sequence, rows_now.token(row + 8))};
        mask_scores<Shape>(scores[tile], visible, DraftMask(p, now.sequence, rows_now, row), token, lane);
      }
      weights[tile] = softmax(states[tile], scores[tile], scales.log2);
    }

    stream.wait();
    multiply_pv(states, weights, stream.v_slice(), lane, 0);
    stream.release_v(i);
  }
  stream.pass_missing_barriers();
}

// Bounds and masks the logits of a warp's part of a step, which starts at `token`.
__device__ inline void prepare_part(PartScores& scores, const RowScales& scales,
                                    const AttentionDecodeParameters& p, const WorkItem& item,
                                    const PackedRows& rows, const Range& seen_by_all, int row, int token) {
  scales.cap.apply(scores);
  if (seen_by_all.holds_all<8 * kPartTiles>(token)) return;
  const Range visible[2] = {Visible::to_token(p, item.sequence, rows.token(row)),
                            Visible::to_token(p, item.sequence, rows.token(row + 8))};
  mask_scores<Shape>(scores, visible, DraftMask(p, item.sequence, rows, row), token, threadIdx.x % 32);
}

// Processes all slices with invariant numerics. The logits of a slice are computed beside the
// weights of the slice before it, and its largest logits beside the second product of that slice.
__device__ inline void process_steps(RowState (&states)[kRowTiles], KvStream& stream,
                                     const AttentionDecodeParameters& p, const WorkItem& item,
                                     int head_kv, SharedAddress q_shared, int first_row,
                                     ItemSegments& segments) {
  const int lane = threadIdx.x % 32;
  const int part = part_of_warp();
  const PackedRows rows = WorkDivision::rows_of(p, item);
  const SharedAddress q_warp = q_shared + first_row * Shape::kRowBytesQ;
  const QFragments q_fragments(q_warp, lane);
  const Range seen_by_all = Visible::to_all_rows(p, item.sequence, rows);
  const int row = first_row + lane / 4;
  const float scale = softmax_scale_log2<Shape::kHasHeadScales>(p, item.sequence.index, head_kv);
  const RowScales scales(p, scale, q_shared, row);
  const SharedStep shared(q_shared + Shape::kQBytes + Shape::kWorkBytes, first_row, part, lane);
  const int own_token = part * 8 * kPartTiles;
  const int own_bytes = own_token * Shape::kRowBytesK;
  constexpr int kAtOnce = Shape::kAtOnce;
  RowState& state = states[0];
  PartScores own[kAtOnce][kRowTiles];
  stream.wait_for_first();
#pragma unroll
  for (int k = 0; k < kAtOnce; ++k) {
    multiply_qk(own[k], q_fragments, q_warp, stream.k_slice() + k * Shape::kSliceBytesK + own_bytes, lane);
    prepare_part(own[k][0], scales, p, item, rows, seen_by_all, row, stream.token(k) + own_token);
    shared.store_largest(k, own[k][0]);
  }
#pragma unroll 1
  for (int i = 0; i < stream.count(); i += kAtOnce) {
    const int token = stream.token(i);
    if (i == 0 || token % kInvariantSegment == 0) {
      if (i > 0) segments.end_segment(state);
      segments.begin_segment(token);
    }
    stream.wait_for_step();
    float largest[kAtOnce][2];
    PartScores next[kAtOnce][kRowTiles];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      largest[k][0] = shared.largest(k, 0);
      largest[k][1] = shared.largest(k, 1);
      // Behind the last slice, the product of what the slot holds is not used.
      multiply_qk(next[k], q_fragments, q_warp, stream.next_k_slice(k) + own_bytes, lane);
    }
    Correction corrections[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      corrections[k].needed = true;  // without a branch, which would part the products
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        corrections[k].of_half[half] =
            raise_invariant_maximum(state.maximum[half], largest[k][half], scales.log2[half]);
        weigh_invariant_logits(own[k][0], half, scales.log2[half], state.maximum[half]);
      }
      shared.store_weights(k, own[k][0]);
    }
    stream.refill(i);
    synchronize_parts(first_row);
    Scores weights[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k)
      shared.load_weights(k, weights[k]);
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int next_token = stream.token(i + kAtOnce + k) + own_token;
      prepare_part(next[k][0], scales, p, item, rows, seen_by_all, row, next_token);
    }
    stream.look_up(i);
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
#pragma unroll
      for (int half = 0; half < 2; ++half)
        add_invariant_weights(weights[k], half, corrections[k].of_half[half], state.sum[half]);
      correct_output(state, corrections[k]);
      const Weights as_operand[kRowTiles] = {packed<Shape>(weights[k])};
      multiply_pv(states, as_operand, stream.v_slice(k), lane, part);
      shared.store_largest(k, next[k][0]);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
#pragma unroll
      for (int tile = 0; tile < kPartTiles; ++tile)
        own[k][0][tile] = next[k][0][tile];
    }
    stream.advance();
  }
  if (stream.count() > 0) segments.end_segment(state);
}

// Processes one work item. REQUIRES: no thread uses the shared memory any more.
__device__ inline void process_item(const AttentionDecodeParameters& p, const WorkDivision& division,
                                    WorkItem& item, int head_kv, SharedAddress q_shared) {
  const Sequence& sequence = item.sequence;
  const PackedRows rows = WorkDivision::rows_of(p, item);
  const int group_kv = threadIdx.x / Shape::kGroupThreads;
  const int first_row = threadIdx.x / 32 % Shape::kWarpsQ * Shape::kWarpRows;
  const Range seen = Visible::to_any_row(p, sequence, rows);
  const Range read = WorkDivision::tokens_of<kSlice * Shape::kAtOnce>(p, item, seen);
  KvStream stream(p, sequence, head_kv, read, seen.begin, group_kv, q_shared + Shape::kQBytes);
  if constexpr (kConvertsKv) {
    QConversionOf<Shape> conversion(p, rows, sequence, head_kv);
    stream.fill();
    conversion.finish(q_shared, q_scales(q_shared));
  } else {
    copy_q<Shape>(p, rows, sequence, head_kv, q_shared);
    async_copy_commit();
    stream.fill();
    stream.wait_for_earlier_copies();
  }
  spill_item(item, q_shared);
  __syncthreads();

  RowState states[kRowTiles] = {};
#pragma unroll
  for (int i = 0; i < 2 * kRowTiles; ++i)
    states[i / 2].maximum[i % 2] = negative_infinity();
  if constexpr (Shape::kInvariant) {
    ItemSegments segments(p, rows, item, head_kv, first_row, part_of_warp());
    process_steps(states, stream, p, item, head_kv, q_shared, first_row, segments);
    segments.finish();
    async_copy_wait<0>();
    fold_shared_tile(p, rows, division, item, head_kv);
    return;
  }
  process_slices(states, stream, p, item, head_kv, q_shared, first_row);

  async_copy_wait<0>();
  __syncthreads();
  item = reload_item(item, q_shared);
  const MergeBuffer merge(q_shared + Shape::kQBytes);
#pragma unroll
  for (int tile = 0; tile < kRowTiles; ++tile)
    merge.store(states[tile], group_kv, first_row + 16 * tile, threadIdx.x % 32);
  __syncthreads();
  store_work_item(p, merge, WorkDivision::rows_of(p, item), division, item, head_kv);
}

extern "C" __global__ void __launch_bounds__(Shape::kThreads, kBlocksPerSm)
    attention_decode(const __grid_constant__ AttentionDecodeParameters p) {
  extern __shared__ __align__(1024) unsigned char shared[];
  prefetch_look_ups<Shape>(p);
  wait_for_prerequisites();
  launch_dependents();

  const int index = static_cast<int>(blockIdx.x);
  const int block = p.heads_kv.quotient(index);  // adjacent CTAs: KV heads of the same tokens
  const int head_kv = index - block * p.heads_kv.divisor;
  const WorkDivision division(p, block);
  if (division.begin() >= division.end()) return;
  WorkItem item = division.item(p, division.begin());
#pragma unroll 1
  for (;;) {
    process_item(p, division, item, head_kv, shared_address(shared));
    if (item.end >= division.end()) return;
    __syncthreads();
    // With a custom mask or 64 rows there are no registers to keep the item in.
    constexpr bool kept = !Shape::kCustomMask && tile_size_q < 64;
    item = kept ? division.next(p, item) : division.item(p, item.end);
  }
}

}  // namespace cubinet::attention_decode
