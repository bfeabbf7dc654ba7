// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "attention_decode_wgmma",
  "interface": 1,
  "summary": "Decode attention over a paged KV cache, tiles of 64 rows or 128: products of warpgroups",
  "minimum_target": "sm_90a",
  "parameters": [
    {"name": "dtype_q", "type": "dtype", "values": ["bf16", "fp16", "e4m3"], "default": "bf16",
     "summary": "element type of Q"},
    {"name": "dtype_kv", "type": "dtype", "values": ["bf16", "fp16", "e4m3"], "default": "bf16",
     "summary": "element type of K and V: dtype_q, or e4m3, which is converted to fp16 once for all rows"},
    {"name": "dtype_o", "type": "dtype", "values": ["bf16", "fp16", "fp32", "e4m3"], "default": "bf16",
     "summary": "element type of the output"},
    {"name": "head_dim_qk", "type": "int", "values": [64, 128, 256],
     "summary": "elements of a row of Q and K"},
    {"name": "head_dim_v", "type": "int", "values": [64, 128, 256],
     "summary": "elements of a row of V and of the output"},
    {"name": "tile_size_q", "type": "int", "values": [64, 128], "default": 64,
     "summary": "rows of the Q tile: query heads of one KV head times query tokens"},
    {"name": "tile_size_kv", "type": "int", "values": [64], "default": 64,
     "summary": "KV tokens of one step"},
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
    {"require": "tile_size_q == 64 || dtype_kv == 'e4m3' && head_dim_qk <= 128 && head_dim_v <= 128",
     "message": "tile_size_q 128 is for KV that is converted, once for all rows, and head dims to 128"},
    {"require": "!sliding_window || mask != 'dense'",
     "message": "sliding_window needs mask causal or custom: the window ends at the query's own position"},
    {"require": "sliding_window || mask != 'custom'",
     "message": "mask custom needs sliding_window: one kernel serves with a window and without"}
  ],
  "kernels": [
    {"name": "attention_decode_wgmma",
     "threads": "dtype_kv == 'e4m3' ? 2 * tile_size_q + 128 : 128",
     "dynamic_shared_bytes": "tile_size_q * head_dim_qk * 2 + max(tile_size_kv * (stages * (head_dim_qk + head_dim_v) * bytes(dtype_kv) + (dtype_kv == 'e4m3' ? 2 * (tile_size_q == 128 || max(head_dim_qk, head_dim_v) <= 64 ? 2 : 1) * head_dim_qk + 4 * head_dim_v : 0)), tile_size_q * (head_dim_v + 10) * 4) + (dtype_kv == 'e4m3' ? tile_size_q * 4 + 64 : 0)",
     "parameter_bytes": 344,
     "programmatic_launch": true},
    {"name": "attention_decode_wgmma_reduce",
     "threads": "128",
     "dynamic_shared_bytes": "0",
     "parameter_bytes": 344,
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
// As `attention_decode`, whose division of work, slots of partial results and second kernel it has, on
// Hopper's own instructions: a warpgroup multiplies 64 rows with 64 tokens at a time, from rings of shared
// memory that it fills itself while products are under way.
#include <cubinet/attention_wgmma_shape.cuh>

#include <cubinet/attention_decode_division.cuh>
#include <cubinet/attention_decode_merge.cuh>
#include <cubinet/attention_decode_q.cuh>
#include <cubinet/attention_decode_reduce.cuh>
#include <cubinet/attention_wgmma_convert.cuh>
#include <cubinet/attention_wgmma_product.cuh>
#include <cubinet/attention_wgmma_stream.cuh>
#include <cubinet/pdl.cuh>
#include <cubinet/warp_roles.cuh>

namespace cubinet::attention {

// A piece of the block's work, of one KV head.
struct PieceRows {
  Piece piece;
  PackedRows rows;
  KvRange seen;
  int head_kv;

  __device__ PieceRows(const AttentionDecodeParameters& p, const Piece& of_block, int head)
      : piece(of_block),
        rows(rows_of(p, of_block)),
        seen{visible_to(p, of_block.sequence, rows.token(0)).begin,
             visible_to(p, of_block.sequence, rows.token(tile_size_q - 1)).end},
        head_kv(head) {}

  __device__ KvRange range(const AttentionDecodeParameters& p) const { return range_of<kSlice>(p, piece, seen); }
};

// Of the rows of Q that were converted.
__device__ inline SharedAddress q_scales(SharedAddress q_shared) {
  return q_shared + kQBytes + kWorkBytes;
}

// This lane's two rows of a piece: what they see, and what becomes of their logits.
class LaneRows {
 public:
  // `first_row` is this warp's first row of the tile.
  __device__ LaneRows(const AttentionDecodeParameters& p, const PackedRows& rows, const Sequence& sequence,
                      SharedAddress q_shared, int first_row)
      : visible_{visible_to(p, sequence, rows.token(first_row + lane() / 4)),
                 visible_to(p, sequence, rows.token(first_row + lane() / 4 + 8))},
        seen_by_all_{visible_to(p, sequence, rows.token(tile_size_q - 1)).begin,
                     kCustomMask ? sequence.length - sequence.q_len
                                 : visible_to(p, sequence, rows.token(0)).end},
        draft_mask_(p, sequence, rows, first_row + lane() / 4),
        scale_log2_{scale(p), scale(p)},
        soft_cap_(p, of_converted_q(scale_log2_, q_shared, first_row)) {}

  // The logits of a slice before they are weighed.
  __device__ void prepare(FragmentD (&scores)[kTilesS], int token) const {
    soft_cap_.apply(scores);
    if (!seen_by_all_.holds_slice(token)) mask_scores(scores, visible_, draft_mask_, token, lane());
  }
  __device__ const float (&scale_log2() const)[2] { return scale_log2_; }

 private:
  __device__ static int lane() { return threadIdx.x % 32; }
  __device__ static float scale(const AttentionDecodeParameters& p) {
    return p.softmax_scale_address != 0 ? fmaxf(load_global_float(p.softmax_scale_address), 0.0f)
                                        : p.softmax_scale_log2;
  }
  __device__ static float (&of_converted_q(float (&scale)[2], SharedAddress q_shared, int first_row))[2] {
    if constexpr (kConvertsKv) {
#pragma unroll
      for (int half = 0; half < 2; ++half)
        scale[half] *= kE4m3Scale * load_shared_float(q_scales(q_shared) + 4 * (first_row + lane() / 4 + 8 * half));
    }
    return scale;
  }

  KvRange visible_[2];
  KvRange seen_by_all_;
  DraftMask draft_mask_;
  float scale_log2_[2];
  SoftCap<soft_cap> soft_cap_;
};

// All slices of a piece, by one warpgroup that copies them itself.
__device__ inline void multiply_slices(RowState& state, WarpgroupStream& stream, const LaneRows& rows,
                                       SharedAddress q_rows) {
  Weights weights{};
#pragma unroll 1
  for (int i = 0; i < stream.count(); ++i) {
    FragmentD scores[kTilesS];
    wgmma_wait<0>(state.output, weights.steps);
    stream.reach_k();
    start_qk(scores, q_rows, stream.k_slice());
    stream.work_beside_qk(i);
    wgmma_wait<0>(scores);

    rows.prepare(scores, stream.token(i));
    weights = softmax(state, scores, rows.scale_log2());

    stream.reach_v();
    start_pv(state, weights, stream.v_slice());
    stream.work_beside_pv(i);
  }
  wgmma_wait<0>(state.output, weights.steps);
}

// The same of slices that another warpgroup brings.
__device__ inline void multiply_slices(RowState& state, ConvertedStream& stream, const LaneRows& rows,
                                       SharedAddress q_rows) {
  if (stream.count() == 0) return;
  Weights weights{};
  FragmentD scores[kTilesS];
  if constexpr (kLooksAhead) {
    stream.reach_k();
    start_qk(scores, q_rows, stream.k_slice());
    wgmma_wait<0>(scores);
  }
#pragma unroll 1
  for (int i = 0; i < stream.count(); ++i) {
    if constexpr (!kLooksAhead) {
      stream.reach_k();
      start_qk(scores, q_rows, stream.k_slice());
      wgmma_wait<0>(scores, state.output, weights.steps);
      stream.release();
    }
    rows.prepare(scores, stream.token(i));
    const Correction correction = weigh(state, scores, rows.scale_log2());
    if constexpr (kLooksAhead) {
      wgmma_wait<0>(state.output, weights.steps);
      stream.release();
    }
    correct_output(state, correction);
    weights = packed(scores);
    if constexpr (kLooksAhead) {
      // Behind the last slice logits are of what lies there, and nobody's.
      if (i + 1 < stream.count()) stream.reach_next_k();
      start_qk(scores, q_rows, stream.next_k_slice());
    }
    stream.reach_v();
    start_pv(state, weights, stream.v_slice());
    stream.advance();
    if constexpr (kLooksAhead) wgmma_wait<1>(scores);
  }
  wgmma_wait<0>(state.output, weights.steps);
}

// All of a piece by the warpgroup that multiplies, whose KV `stream` brings. `shared`: of Q, then of the slices, where
// nobody has anything under way when the last is multiplied.
template <typename Stream>
__device__ inline void multiply_piece(const AttentionDecodeParameters& p, const WorkDivision& division,
                                      const PieceRows& of_piece, Stream& stream, SharedAddress shared) {
  const int first_row = static_cast<int>(threadIdx.x) / 32 * kWarpRows;
  RowState state{};
  state.maximum[0] = state.maximum[1] = negative_infinity();
  multiply_slices(state, stream, LaneRows(p, of_piece.rows, of_piece.piece.sequence, shared, first_row),
                  shared + first_row / kGroupRows * kGroupBytesQ);
  async_copy_wait<0>();
  synchronize_storing();
  const MergeBuffer<false> merge(shared + kQBytes);
  merge.put(state, 0, first_row, threadIdx.x % 32);
  synchronize_storing();
  store_piece(p, merge, of_piece.rows, division, of_piece.piece, of_piece.head_kv);
}

// What a block of one warpgroup does with a piece.
class Multiplier {
 public:
  __device__ Multiplier(const AttentionDecodeParameters& p, SharedAddress shared) : p_(p), shared_(shared) {}

  __device__ void piece(const WorkDivision& division, const PieceRows& of_piece) {
    const Sequence& sequence = of_piece.piece.sequence;
    WarpgroupStream stream(p_, sequence.index, of_piece.head_kv, of_piece.range(p_), of_piece.seen.begin,
                           shared_ + kQBytes);
    copy_q<LayoutQ>(p_, of_piece.rows, sequence, of_piece.head_kv, shared_);
    async_copy_commit();
    stream.fill();
    stream.wait_for_what_preceded();
    __syncthreads();
    multiply_piece(p_, division, of_piece, stream, shared_);
    __syncthreads();
  }

 private:
  const AttentionDecodeParameters& p_;
  SharedAddress shared_;
};

// The warpgroups of other blocks: the last copies and converts what the others multiply.
class ConvertedRole {
 public:
  __device__ ConvertedRole(const AttentionDecodeParameters& p, SharedAddress shared)
      : p_(p), shared_(shared), ring_(shared + kQBytes, shared + kSharedBytes - kBarrierBytes) {}

  // By one thread, before all roles.
  __device__ void init() const { ring_.init(); }

 protected:
  const AttentionDecodeParameters& p_;
  SharedAddress shared_;
  ConvertedRing ring_;
  SliceTurn turn_;
};

class Converter : public ConvertedRole {
 public:
  __device__ explicit Converter(const ConvertedRole& role) : ConvertedRole(role) {}

  __device__ void piece(const WorkDivision&, const PieceRows& of_piece) {
    SliceConverter slices(p_, of_piece.piece.sequence.index, of_piece.head_kv, of_piece.range(p_),
                          of_piece.seen.begin, ring_, turn_);
    mbarrier_wait(ring_.stored(), parity_before_);
    parity_before_ ^= 1;
    slices.fill();
    turn_ = slices.run();
  }

 private:
  unsigned parity_before_ = 1;  // of the piece before; of the first's, a phase that has ended
};

class ConvertedMultiplier : public ConvertedRole {
 public:
  __device__ explicit ConvertedMultiplier(const ConvertedRole& role) : ConvertedRole(role) {}

  __device__ void piece(const WorkDivision& division, const PieceRows& of_piece) {
    QConversion<LayoutQ, false, kStoringThreads>(p_, of_piece.rows, of_piece.piece.sequence, of_piece.head_kv)
        .finish(shared_, q_scales(shared_));
    fence_async_proxy();
    synchronize_storing();
    ConvertedStream stream(p_, of_piece.piece.sequence.index, of_piece.range(p_), ring_, turn_);
    multiply_piece(p_, division, of_piece, stream, shared_);
    turn_ = stream.turn();
    __syncwarp();
    if (threadIdx.x % 32 == 0) mbarrier_arrive(ring_.stored());
  }
};

template <typename Role>
__device__ inline void do_work(const AttentionDecodeParameters& p, Role role) {
  const int index = static_cast<int>(blockIdx.x);
  const int block = p.heads_kv.quotient(index);  // the KV heads of the same tokens run side by side
  const int head_kv = index - block * p.heads_kv.divisor;
  const WorkDivision division(p, block);
#pragma unroll 1
  for (int unit = division.begin(); unit < division.end();) {
    const PieceRows of_piece(p, division.piece(p, unit), head_kv);
    role.piece(division, of_piece);
    unit = of_piece.piece.end;
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    attention_decode_wgmma(const __grid_constant__ AttentionDecodeParameters p) {
  extern __shared__ __align__(1024) unsigned char shared[];
  prefetch_look_ups(p);
  wait_for_prerequisites();
  launch_dependents();

  const SharedAddress memory = shared_address(shared);
  if constexpr (kConvertsKv) {
    const ConvertedRole role(p, memory);
    if (threadIdx.x == 0) role.init();
    __syncthreads();
    if (__shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x), 0) >= kStoringThreads) {
      if constexpr (kMovesRegisters) give_registers<kConvertRegisters>();
      do_work(p, Converter(role));
    } else {
      if constexpr (kMovesRegisters) take_registers<kProductRegisters>();
      do_work(p, ConvertedMultiplier(role));
    }
  } else {
    do_work(p, Multiplier(p, memory));
  }
}

static_assert(attention_decode_wgmma_reduce_threads == kReduceThreads,
              "the host's formula of the block size differs");
static_assert(attention_decode_wgmma_reduce_shared_bytes == 0,
              "the reduction uses static shared memory alone");

extern "C" __global__ void __launch_bounds__(kReduceThreads, kReduceBlocksPerSm)
    attention_decode_wgmma_reduce(const __grid_constant__ AttentionDecodeParameters p) {
  reduce_output_row(p);
}

}  // namespace cubinet::attention
