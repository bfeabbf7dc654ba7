// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "attention_decode",
  "interface": 4,
  "summary": "Decode attention over a paged KV cache: GQA/MQA heads packed into the tile, split-KV, tensor cores",
  "minimum_target": "sm_80",
  "parameters": [
    {"name": "dtype_q", "type": "dtype", "values": ["bf16", "fp16", "e4m3"], "default": "bf16",
     "summary": "element type of Q"},
    {"name": "dtype_kv", "type": "dtype", "values": ["bf16", "fp16", "e4m3"], "default": "bf16",
     "summary": "element type of K and V: dtype_q, or e4m3, which is multiplied as fp16"},
    {"name": "dtype_o", "type": "dtype", "values": ["bf16", "fp16", "fp32", "e4m3"], "default": "bf16",
     "summary": "element type of the output; e4m3 needs sm_89"},
    {"name": "head_dim_qk", "type": "int", "values": [64, 128, 256],
     "summary": "elements of a row of Q and K"},
    {"name": "head_dim_v", "type": "int", "values": [64, 128, 256],
     "summary": "elements of a row of V and of the output"},
    {"name": "tile_size_q", "type": "int", "values": [16, 32, 64], "default": 16,
     "summary": "rows of the Q tile: query heads of one KV head times query tokens"},
    {"name": "tile_size_kv", "type": "int", "values": [16, 32, 64, 128], "default": 64,
     "summary": "KV tokens of one step of a thread block, 16 or 32 a warp; 128 suits head dim 64, 32 suits 256"},
    {"name": "stages", "type": "int", "minimum": 2, "maximum": 6, "default": 2,
     "summary": "steps whose K and V are in shared memory or under way to it"},
    {"name": "page_size", "type": "int", "values": [8, 16, 32, 64, 128], "default": 64,
     "summary": "tokens of a page of the KV cache"},
    {"name": "mask", "type": "choice", "values": ["causal", "dense", "custom"], "default": "causal",
     "summary": "causal: the last query token sees all of the KV, each earlier one a token less; custom: by bits"},
    {"name": "sliding_window", "type": "bool", "default": false,
     "summary": "a query sees only the newest tokens; how many is given at run time"},
    {"name": "soft_cap", "type": "bool", "default": false,
     "summary": "logits are bounded by a tanh; the bound is given at run time"},
    {"name": "separate_page_tables", "type": "bool", "default": false,
     "summary": "K and V are looked up by page tables of their own"}
  ],
  "constraints": [
    {"require": "dtype_kv == dtype_q || dtype_kv == 'e4m3'",
     "message": "dtype_kv must be dtype_q or e4m3: the tensor cores multiply one type, and only e4m3 is converted"},
    {"require": "tile_size_q * tile_size_kv <= ((tile_size_q == 64 || dtype_kv == 'e4m3') && head_dim_v <= 128 ? 4096 : 2048)",
     "message": "tile_size_q * tile_size_kv must be 2048 or less (4096 with head_dim_v up to 128 and 64 rows or KV of e4m3): 8 warps, each with 16 rows and 16 tokens (32)"},
    {"require": "tile_size_kv >= ((tile_size_q == 64 || dtype_kv == 'e4m3') && head_dim_v <= 128 ? 32 : 16)",
     "message": "tile_size_kv must be 32 or more with head_dim_v up to 128 and 64 rows or KV of e4m3: a warp takes 32 tokens at a time"},
    {"require": "!sliding_window || mask != 'dense'",
     "message": "sliding_window needs mask causal or custom: the window ends at the query's own position"},
    {"require": "sliding_window || mask != 'custom'",
     "message": "mask custom needs sliding_window: one kernel serves with a window and without"}
  ],
  "kernels": [
    {"name": "attention_decode",
     "threads": "tile_size_q * tile_size_kv / (tile_size_q == 32 && dtype_kv == 'e4m3' && head_dim_v <= 128 ? 32 : (tile_size_q == 64 || dtype_kv == 'e4m3') && head_dim_v <= 128 ? 16 : 8)",
     "dynamic_shared_bytes": "tile_size_q * head_dim_qk * 2 + max(stages * tile_size_kv * (head_dim_qk + head_dim_v) * bytes(dtype_kv), tile_size_q * tile_size_kv / ((tile_size_q == 64 || dtype_kv == 'e4m3') && head_dim_v <= 128 ? 32 : 16) * (head_dim_v + 10) * 4) + (dtype_kv == 'e4m3' ? tile_size_q * 4 + (tile_size_q == 32 && head_dim_v <= 128 ? 64 : 0) : 0)",
     "parameter_bytes": 344,
     "argument": "cubinet::kernel_templates::AttentionDecodeParameters",
     "argument_header": "cubinet/kernel_templates/attention_decode_parameters.h",
     "grid": "blocks * heads_kv",
     "programmatic_launch": true},
    {"name": "attention_decode_reduce",
     "threads": "128",
     "dynamic_shared_bytes": "0",
     "parameter_bytes": 344,
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
    "data_type_q": "dtype_q",
    "data_type_k": "dtype_kv",
    "data_type_v": "dtype_kv",
    "data_type_o": "dtype_o",
    "tile_size_q": "tile_size_q",
    "tile_size_kv": "tile_size_kv",
    "step_q": "tile_size_q",
    "step_kv": "tile_size_kv",
    "head_dim_qk": "head_dim_qk",
    "head_dim_v": "head_dim_v",
    "head_dim_per_cta_v": "head_dim_v",
    "tokens_per_page": "page_size",
    "groups_tokens_heads_q": true,
    "groups_heads_q": true,
    "stages": "stages",
    "soft_cap": "soft_cap",
    "separate_page_tables": "separate_page_tables"
  }
}
*/
// Grid of attention_decode: parameters.blocks times heads_kv. Each block takes an equal part of the KV of all
// sequences, piece by piece. Of a tile that several blocks share, the last one to end reduces the partial
// results or, without counters, attention_decode_reduce, whose grid is (heads_q, q_len, batch).
//
// Warps beside each other in KV walk slices of 16 tokens, or 32, on their own, each with its own ring of
// stages, maximum, sum and accumulator, and meet only once, at the end of the piece: no block-wide barrier
// stands between a slice's arrival and its use. A slice starts at a multiple of its tokens, and so lies in
// one page or begins where the first of its pages does.
#include <cubinet/attention_decode_shape.cuh>

#include <cubinet/attention_decode_stream.cuh>
#include <cubinet/attention_decode_division.cuh>
#include <cubinet/attention_decode_merge.cuh>
#include <cubinet/attention_decode_product.cuh>
#include <cubinet/attention_decode_q.cuh>
#include <cubinet/attention_decode_reduce.cuh>
#include <cubinet/attention_decode_softmax.cuh>
#include <cubinet/pdl.cuh>

namespace cubinet::attention {

// Of the rows of Q that were converted.
__device__ inline SharedAddress q_scales(SharedAddress q_shared) {
  return q_shared + kQBytes + kWorkBytes;
}

// Where a block keeps its piece.
__device__ inline SharedAddress piece_place(SharedAddress q_shared) {
  return q_scales(q_shared) + 4 * tile_size_q;
}

// The block's piece, which the loop over the KV has no registers for where a warp has two tiles of rows: it is
// in shared memory meanwhile. A barrier stands between `keep_piece` and the first `recall_piece`, and before it
// is kept again.
__device__ inline void keep_piece(const Piece& piece, SharedAddress q_shared) {
  if (kRowTiles == 1 || threadIdx.x != 0) return;
  store_shared_object(piece_place(q_shared), piece);
}
__device__ inline Piece recall_piece(const Piece& piece, SharedAddress q_shared) {
  Piece kept = piece;
  if constexpr (kRowTiles == 2) load_shared_object(piece_place(q_shared), kept);
  return kept;
}
static_assert(kRowTiles == 1 || sizeof(Piece) <= kPieceBytes, "the piece has its place");

// What the logits of two rows of a lane are multiplied by, of which `row` is the first: as base-2 logits, and
// before that where they are bounded.
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

// All slices of one group of warps. `first_row` is this warp's first row of the tile.
__device__ inline void consume(RowState (&states)[kRowTiles], KvStream& stream, const AttentionDecodeParameters& p,
                               const Piece& piece, SharedAddress q_shared, int first_row) {
  const int lane = threadIdx.x % 32;
  const Sequence& sequence = piece.sequence;
  const PackedRows rows = rows_of(p, piece);
  const SharedAddress q_warp = q_shared + first_row * kRowBytesQ;
  const QFragments q_fragments(q_warp, lane);
  const KvRange seen_by_all{
      visible_to(p, sequence, rows.token(tile_size_q - 1)).begin,
      kCustomMask ? sequence.length - sequence.q_len : visible_to(p, sequence, rows.token(0)).end};
  // A scale is above 0. That is made sure of here so that what was loaded is there before the loop, which
  // would otherwise wait in every slice for what it loads itself into the same scoreboard: the next page's
  // number.
  const float scale = softmax_scale_log2(p);
  const RowScales kept(p, scale, q_shared, first_row + lane / 4);
  for (int i = 0; i < stream.count(); ++i) {
    const int token = stream.token(i);
    Scores scores[kRowTiles];
    stream.wait();
    multiply_qk(scores, q_fragments, q_warp, stream.k_slice(), lane);
    stream.release_k(i);

    const bool is_masked = !seen_by_all.holds_slice(token);
    Weights weights[kRowTiles];
#pragma unroll
    for (int tile = 0; tile < kRowTiles; ++tile) {
      // Two tiles leave no registers for what is read again as soon.
      const int row = first_row + lane / 4 + 16 * tile;
      const RowScales scales = kRowTiles == 1 ? kept : RowScales(p, scale, q_shared, row);
      scales.cap.apply(scores[tile]);
      if (is_masked) {
        const Piece now = recall_piece(piece, q_shared);
        const PackedRows rows_now = rows_of(p, now);
        const KvRange visible[2] = {visible_to(p, now.sequence, rows_now.token(row)),
                                    visible_to(p, now.sequence, rows_now.token(row + 8))};
        mask_scores(scores[tile], visible, DraftMask(p, now.sequence, rows_now, row), token, lane);
      }
      weights[tile] = softmax(states[tile], scores[tile], scales.log2);
    }

    stream.wait();
    multiply_pv(states, weights, stream.v_slice(), lane);
    stream.release_v(i);
  }
  stream.pass_missing_barriers();
}

// One piece of the block's work, in memory that nobody reads or writes any more.
__device__ inline void compute(const AttentionDecodeParameters& p, const WorkDivision& division, Piece& piece,
                               int head_kv, SharedAddress q_shared) {
  const Sequence& sequence = piece.sequence;
  const PackedRows rows = rows_of(p, piece);
  const int group_kv = threadIdx.x / kGroupThreads;
  const int first_row = threadIdx.x / 32 % kWarpsQ * kWarpRows;
  const KvRange seen{visible_to(p, sequence, rows.token(0)).begin,
                     visible_to(p, sequence, rows.token(tile_size_q - 1)).end};
  KvStream stream(p, sequence.index, head_kv, range_of<kSlice>(p, piece, seen), seen.begin, group_kv,
                  q_shared + kQBytes);
  if constexpr (kConvertsKv) {
    QConversion conversion(p, rows, sequence, head_kv);
    stream.fill();
    conversion.finish(q_shared, q_scales(q_shared));
  } else {
    copy_q(p, rows, sequence, head_kv, q_shared);
    async_copy_commit();
    stream.fill();
    stream.wait_for_what_preceded();
  }
  keep_piece(piece, q_shared);
  __syncthreads();

  RowState states[kRowTiles] = {};
#pragma unroll
  for (int i = 0; i < 2 * kRowTiles; ++i)
    states[i / 2].maximum[i % 2] = negative_infinity();
  consume(states, stream, p, piece, q_shared, first_row);

  async_copy_wait<0>();
  __syncthreads();
  piece = recall_piece(piece, q_shared);
  const MergeBuffer merge(q_shared + kQBytes);
#pragma unroll
  for (int tile = 0; tile < kRowTiles; ++tile)
    merge.put(states[tile], group_kv, first_row + 16 * tile, threadIdx.x % 32);
  __syncthreads();
  store_piece(p, merge, rows_of(p, piece), division, piece, head_kv);
}

extern "C" __global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    attention_decode(const __grid_constant__ AttentionDecodeParameters p) {
  extern __shared__ __align__(1024) unsigned char shared[];
  prefetch_look_ups(p);
  wait_for_prerequisites();
  launch_dependents();

  const int index = static_cast<int>(blockIdx.x);
  const int block = p.heads_kv.quotient(index);  // the KV heads of the same tokens run side by side
  const int head_kv = index - block * p.heads_kv.divisor;
  const WorkDivision division(p, block);
#pragma unroll 1
  for (int unit = division.begin(); unit < division.end();) {
    Piece piece = division.piece(p, unit);
    compute(p, division, piece, head_kv, shared_address(shared));
    unit = piece.end;
    if (unit < division.end()) __syncthreads();
  }
}

static_assert(attention_decode_reduce_threads == kReduceThreads,
              "the host's formula of the block size differs");
static_assert(attention_decode_reduce_shared_bytes == 0, "the reduction uses static shared memory alone");

extern "C" __global__ void __launch_bounds__(kReduceThreads, kReduceBlocksPerSm)
    attention_decode_reduce(const __grid_constant__ AttentionDecodeParameters p) {
  reduce_output_row(p);
}

}  // namespace cubinet::attention
