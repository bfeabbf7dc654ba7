// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "attention_latent",
  "interface": 1,
  "summary": "Decode attention of latent heads (576/512, V is K's first columns) over a paged KV cache: products of warpgroups",
  "minimum_target": "sm_90a",
  "parameters": [
    {"name": "dtype_q", "type": "dtype", "values": ["bf16", "fp16"], "default": "bf16",
     "summary": "element type of Q"},
    {"name": "dtype_kv", "type": "dtype", "values": ["bf16", "fp16"], "default": "bf16",
     "summary": "element type of KV: dtype_q"},
    {"name": "dtype_o", "type": "dtype", "values": ["bf16", "fp16", "fp32", "e4m3"], "default": "bf16",
     "summary": "element type of the output"},
    {"name": "head_dim_qk", "type": "int", "values": [576], "default": 576,
     "summary": "elements of a row of Q and K"},
    {"name": "head_dim_v", "type": "int", "values": [512], "default": 512,
     "summary": "elements of a row of the output: so many of K's are V"},
    {"name": "tile_size_q", "type": "int", "values": [16, 32, 64], "default": 64,
     "summary": "rows of the Q tile: query heads times query tokens"},
    {"name": "tile_size_kv", "type": "int", "values": [32], "default": 32,
     "summary": "KV tokens of one step of a thread block"},
    {"name": "stages", "type": "int", "minimum": 2, "maximum": 5, "default": 4,
     "summary": "steps that are in shared memory or under way to it"},
    {"name": "page_size", "type": "int", "values": [8, 16, 32, 64, 128], "default": 64,
     "summary": "tokens of a page of the KV cache"},
    {"name": "mask", "type": "choice", "values": ["causal", "dense", "custom"], "default": "causal",
     "summary": "causal: the last query token sees all of the KV, each earlier one a token less; custom: by bits"},
    {"name": "sliding_window", "type": "bool", "default": false,
     "summary": "a query sees only the newest tokens: refused"},
    {"name": "soft_cap", "type": "bool", "default": false,
     "summary": "logits are bounded by a tanh: refused"},
    {"name": "separate_page_tables", "type": "bool", "default": false,
     "summary": "K and V are looked up by page tables of their own: refused"}
  ],
  "constraints": [
    {"require": "dtype_kv == dtype_q",
     "message": "dtype_kv must be dtype_q: the tensor cores multiply one type, and nothing is converted"},
    {"require": "tile_size_q < 64 || stages <= 4",
     "message": "stages must be 4 or less with 64 rows: more have no room beside them"},
    {"require": "mask != 'custom'", "message": "mask must be causal or dense: attention_wide has packed masks"},
    {"require": "!sliding_window", "message": "sliding_window must be false: attention_wide has windows"},
    {"require": "!soft_cap", "message": "soft_cap must be false: attention_wide has soft caps"},
    {"require": "!separate_page_tables",
     "message": "separate_page_tables must be false: latent attention has one pool"}
  ],
  "kernels": [
    {"name": "attention_latent",
     "threads": "512",
     "dynamic_shared_bytes": "tile_size_q * head_dim_qk * 2 + stages * (tile_size_kv * head_dim_qk * 2 + 16) + 9272",
     "parameter_bytes": 344,
     "programmatic_launch": true},
    {"name": "attention_latent_reduce",
     "threads": "256",
     "dynamic_shared_bytes": "0",
     "parameter_bytes": 344,
     "programmatic_launch": true}
  ],
  "row": {
    "qkv_layout": "'paged_kv'",
    "kernel_type": "'keeps'",
    "mask": "mask",
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
// Grid of attention_latent: parameters.blocks. Each block takes an equal part of the KV of all sequences, piece by
// piece; what several blocks computed of a tile is brought together as in attention_decode.
//
// A block is four warpgroups that meet at barriers in shared memory alone: one copies Q and slices of KV, one has
// the scores and the softmax, two have half of the output's columns each, since 512 columns of 64 rows do not fit
// the registers of one. The scores of a slice are computed while the output takes in those before it.
#include <cubinet/attention_latent_shape.cuh>  // of which the others are made

#include <cubinet/async_copy.cuh>
#include <cubinet/attention_decode_division.cuh>
#include <cubinet/attention_decode_reduce.cuh>
#include <cubinet/mbarrier.cuh>
#include <cubinet/pdl.cuh>
#include <cubinet/swizzle.cuh>
#include <cubinet/warp_roles.cuh>
#include <cubinet/wgmma.cuh>

namespace cubinet::attention {

// What the warpgroups tell each other by, and where the data lie.
struct SharedLayout {
  SharedAddress base;

  __device__ SharedAddress q() const { return base; }
  __device__ SharedAddress kv(int stage) const { return base + kKvOffset + stage * kStageBytes; }
  __device__ SharedAddress weights() const { return base + kWeightsOffset; }
  __device__ SharedAddress factor(int buffer, int row) const {
    return base + kFactorsOffset + buffer * kRowFactorsBytes + 4 * row;
  }
  __device__ SharedAddress lse(int buffer, int row) const { return factor(buffer, row) + 4 * kProductRows; }
  __device__ SharedAddress kv_full(int stage) const { return base + kBarriersOffset + 8 * stage; }
  __device__ SharedAddress kv_empty(int stage) const { return kv_full(stages + stage); }
  __device__ SharedAddress weights_full(int buffer) const { return kv_full(2 * stages + buffer); }
  __device__ SharedAddress weights_empty(int buffer) const { return kv_full(2 * stages + 2 + buffer); }
  __device__ SharedAddress q_full() const { return kv_full(2 * stages + 4); }
  __device__ SharedAddress q_empty() const { return kv_full(2 * stages + 5); }
  __device__ SharedAddress is_last() const { return kv_full(2 * stages + 6); }

  __device__ void init() const {
#pragma unroll 1
    for (int stage = 0; stage < stages; ++stage) {
      mbarrier_init(kv_full(stage), kWarpgroup);
      mbarrier_init(kv_empty(stage), kOutputWarps);
    }
#pragma unroll 1
    for (int buffer = 0; buffer < 2; ++buffer) {
      mbarrier_init(weights_full(buffer), 4);
      mbarrier_init(weights_empty(buffer), kOutputWarps);
    }
    mbarrier_init(q_full(), kWarpgroup);
    mbarrier_init(q_empty(), 4);
  }
};

// Which place of a ring is next, and the parity of its phase.
template <int kPlaces>
struct RingPlace {
  int index = 0;
  unsigned phase = 0;

  __device__ void advance() {
    if (++index == kPlaces) {
      index = 0;
      phase ^= 1;
    }
  }
};

// The slices of a piece that its tile's rows read.
struct PieceTokens {
  int begin;
  int end;

  __device__ PieceTokens(const AttentionDecodeParameters& p, const Piece& piece, const PackedRows& rows)
      : begin((piece.begin - piece.tile_begin) * p.unit.divisor),
        end(minimum((piece.end - piece.tile_begin) * p.unit.divisor,
                    visible_to(p, piece.sequence, rows.token(tile_size_q - 1)).end)) {}

  // The same in all threads of a warpgroup, which only then need not wait for each other at every product.
  __device__ int slices() const {
    return __shfl_sync(kAllLanes, divide_up(maximum(end - begin, 0), kSlice), 0);
  }
};

__device__ inline PackedRows rows_of(const AttentionDecodeParameters& p, const Piece& piece) {
  return {p.group, p.group.divisor * piece.sequence.q_len, piece.q_tile * tile_size_q};
}

// Calls `work` for each of the block's pieces.
template <typename Work>
__device__ inline void for_each_piece(const AttentionDecodeParameters& p, const WorkDivision& division,
                                      Work work) {
#pragma unroll 1
  for (int unit = division.begin(); unit < division.end();) {
    const Piece piece = division.piece(p, unit);
    const PackedRows rows = rows_of(p, piece);
    work(piece, rows, PieceTokens(p, piece, rows));
    unit = piece.end;
  }
}

// The warpgroup that copies. A thread has one chunk of 16 bytes of each block of some rows.
class Copier {
 public:
  __device__ Copier(const AttentionDecodeParameters& p, const SharedLayout& layout)
      : p_(p), layout_(layout), row_(threadIdx.x % kWarpgroup / 8), chunk_(threadIdx.x % 8) {}

  __device__ void piece(const Piece& piece, const PackedRows& rows, const PieceTokens& tokens) {
    const int slices = tokens.slices();
    const GlobalAddress table = p_.page_table + 4 * (piece.sequence.index * p_.page_table_stride);
    int pages[kRows];
    look_up(pages, table, tokens, 0);
    copy_q(piece.sequence, rows);
#pragma unroll 1
    for (int i = 0; i < slices; ++i) {
      const int token = tokens.begin + i * kSlice;
      GlobalAddress sources[kRows];
#pragma unroll
      for (int k = 0; k < kRows; ++k) {
        const int own = token + row_ + k * kRowsAtOnce;
        sources[k] = p_.k + sizeof(dtype_kv) * (pages[k] * p_.k_page_stride +
                                                (own & (page_size - 1)) * p_.k_token_stride) +
                     chunk_ * 16;
      }
      look_up(pages, table, tokens, i + 1);
      mbarrier_wait(layout_.kv_empty(place_.index), place_.phase ^ 1);
      const SharedAddress target = layout_.kv(place_.index) + swizzled<kBlockRowBytes>(row_, chunk_);
#pragma unroll
      for (int k = 0; k < kRows; ++k) {
        const bool valid = token + row_ + k * kRowsAtOnce < tokens.end;
#pragma unroll
        for (int block = 0; block < kBlocksQk; ++block)
          async_copy_16_or_zero(target + block * kKvBlockBytes + k * kRowsAtOnce * kBlockRowBytes,
                                sources[k] + block * kBlockRowBytes, valid);
      }
      mbarrier_arrive_with_copies(layout_.kv_full(place_.index));
      place_.advance();
    }
  }

 private:
  static constexpr int kRowsAtOnce = kWarpgroup / 8;
  static constexpr int kRows = kSlice / kRowsAtOnce;
  static_assert(kRowsAtOnce % 8 == 0, "a thread's rows have one swizzle");

  __device__ void look_up(int (&pages)[kRows], GlobalAddress table, const PieceTokens& tokens, int slice) const {
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      const int token = tokens.begin + slice * kSlice + row_ + k * kRowsAtOnce;
      pages[k] = token < tokens.end
                     ? load_global_constant_int(table + 4ull * static_cast<unsigned>(token / page_size))
                     : 0;
    }
  }

  __device__ void copy_q(const Sequence& sequence, const PackedRows& rows) {
    mbarrier_wait(layout_.q_empty(), q_phase_ ^ 1);
    const GlobalAddress base =
        p_.q + sizeof(dtype_q) * sequence.first_element(p_, p_.q_batch_stride, p_.q_token_stride) + chunk_ * 16;
#pragma unroll 1
    for (int row = row_; row < tile_size_q; row += kRowsAtOnce) {
      const int packed = minimum(rows.first + row, rows.count - 1);
      const int token = rows.group.quotient(packed);
      const int head = packed - token * rows.group.divisor;
      const GlobalAddress source =
          base + sizeof(dtype_q) * (token * p_.q_token_stride + head * p_.q_head_stride);
      const SharedAddress target = layout_.q() + swizzled<kBlockRowBytes>(row, chunk_);
#pragma unroll
      for (int block = 0; block < kBlocksQk; ++block)
        async_copy_16_or_zero(target + block * kQBlockBytes, source + block * kBlockRowBytes, rows.holds(row));
    }
    mbarrier_arrive_with_copies(layout_.q_full());
    q_phase_ ^= 1;
  }

  const AttentionDecodeParameters& p_;
  const SharedLayout& layout_;
  int row_;
  int chunk_;
  RingPlace<stages> place_;
  unsigned q_phase_ = 0;
};

// The warpgroup that has the scores.
class Scorer {
 public:
  __device__ Scorer(const AttentionDecodeParameters& p, const SharedLayout& layout)
      : layout_(layout), warp_(threadIdx.x % kWarpgroup / 32), lane_(threadIdx.x % 32) {
    scale_log2_ = p.softmax_scale_address != 0 ? fmaxf(load_global_float(p.softmax_scale_address), 0.0f)
                                               : p.softmax_scale_log2;
  }

  __device__ void piece(const AttentionDecodeParameters& p, const Piece& piece, const PackedRows& rows,
                        const PieceTokens& tokens) {
    const int slices = tokens.slices();
    seen_by_all_ = visible_to(p, piece.sequence, rows.token(0)).end;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      visible_[half] = visible_to(p, piece.sequence, rows.token(row() + 8 * half)).end;
      maximum_[half] = negative_infinity();
      sum_[half] = 0.0f;
    }
    mbarrier_wait(layout_.q_full(), q_phase_);
    q_phase_ ^= 1;
    FragmentD even[kTiles];
    FragmentD odd[kTiles];
    if (slices > 0) {
      int token = tokens.begin;
      multiply(even);
      // The products of a slice are under way while the one before it is weighed.
#pragma unroll 1
      for (int left = slices - 1;; left -= 2) {
        if (left == 0) {
          wgmma_wait<0>(even);
          weigh(even, token);
          break;
        }
        multiply(odd);
        wgmma_wait<1>(even);
        weigh(even, token);
        token += kSlice;
        if (left == 1) {
          wgmma_wait<0>(odd);
          weigh(odd, token);
          break;
        }
        multiply(even);
        wgmma_wait<1>(odd);
        weigh(odd, token);
        token += kSlice;
      }
    }
    release_q();
    end();
  }

 private:
  static constexpr int kTiles = kSlice / 8;

  __device__ int row() const { return warp_ * 16 + lane_ / 4; }
  __device__ bool has_rows() const { return warp_ * 16 < tile_size_q; }

  __device__ void release_q() const {
    if (lane_ == 0) mbarrier_arrive(layout_.q_empty());
  }

  // Starts the products of the next slice.
  __device__ void multiply(FragmentD (&scores)[kTiles]) {
    mbarrier_wait(layout_.kv_full(place_.index), place_.phase);
    fence_async_proxy();
    const MatrixDescriptor q = rows_of_k(layout_.q());
    const MatrixDescriptor k = rows_of_k(layout_.kv(place_.index));
    wgmma_begin(scores);
#pragma unroll
    for (int step = 0; step < head_dim_qk / 16; ++step)
      Wgmma<dtype_kv, kSlice>::multiply(scores, descriptor_behind(q, step / 4 * kQBlockBytes + step % 4 * 32),
                                        descriptor_behind(k, step / 4 * kKvBlockBytes + step % 4 * 32), step > 0);
    wgmma_commit();
    place_.advance();
  }

  // Takes the slice into the running maximum and sum, and hands its weights on.
  __device__ void weigh(FragmentD (&scores)[kTiles], int token) {
    mbarrier_wait(layout_.weights_empty(buffer_.index), buffer_.phase ^ 1);
    if (has_rows()) {
      if (token + kSlice > seen_by_all_) {
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            if (token + tile * 8 + (lane_ & 3) * 2 + (i & 1) >= visible_[i >> 1])
              scores[tile].r[i] = negative_infinity();
          }
        }
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float newest = fmaxf(scores[0].r[2 * half], scores[0].r[2 * half + 1]);
#pragma unroll
        for (int tile = 1; tile < kTiles; ++tile)
          newest = fmaxf(newest, fmaxf(scores[tile].r[2 * half], scores[tile].r[2 * half + 1]));
        const float maximum_now = fmaxf(maximum_[half], lanes_max<4>(newest) * scale_log2_);
        // A row that has seen no token yet: any finite offset makes all its weights 0 rather than NaN.
        const float offset = maximum_now == negative_infinity() ? 0.0f : maximum_now;
        const float correction = exp2_approx(maximum_[half] - offset);
        maximum_[half] = maximum_now;
        float sum = 0.0f;
        const int own = row() + 8 * half;
        const SharedAddress target = layout_.weights() + (lane_ & 3) * 4;
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
          const float first = exp2_approx(scores[tile].r[2 * half] * scale_log2_ - offset);
          const float second = exp2_approx(scores[tile].r[2 * half + 1] * scale_log2_ - offset);
          sum += first + second;
          store_shared_4(target + swizzled<kBlockRowBytes>(own, buffer_.index * kTiles + tile),
                         pack2<dtype_kv>(first, second));
        }
        sum_[half] = sum_[half] * correction + sum;
        if ((lane_ & 3) == 0) store_shared_float(layout_.factor(buffer_.index, own), correction);
      }
    }
    hand_on();
  }

  // What makes a row of its sums, and its log-sum-exp.
  __device__ void end() {
    mbarrier_wait(layout_.weights_empty(buffer_.index), buffer_.phase ^ 1);
    if (has_rows()) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float total = lanes_sum<4>(sum_[half]);
        if ((lane_ & 3) == 0) {
          const int own = row() + 8 * half;
          store_shared_float(layout_.factor(buffer_.index, own), total > 0.0f ? reciprocal_approx(total) : 0.0f);
          store_shared_float(layout_.lse(buffer_.index, own),
                             total > 0.0f ? maximum_[half] + log2_approx(total) : negative_infinity());
        }
      }
    }
    hand_on();
  }

  __device__ void hand_on() {
    fence_async_proxy();
    __syncwarp();
    if (lane_ == 0) mbarrier_arrive(layout_.weights_full(buffer_.index));
    buffer_.advance();
  }

  const SharedLayout& layout_;
  int warp_;
  int lane_;
  float scale_log2_;
  int seen_by_all_ = 0;
  int visible_[2] = {};
  float maximum_[2] = {};
  float sum_[2] = {};
  RingPlace<stages> place_;
  RingPlace<2> buffer_;
  unsigned q_phase_ = 0;
};

// A warpgroup that has half of the output's columns.
class Accumulator {
 public:
  __device__ Accumulator(const AttentionDecodeParameters& p, const SharedLayout& layout, int half)
      : p_(p), layout_(layout), first_column_(half * kColumns) {}

  __device__ void piece(const WorkDivision& division, const Piece& piece, const PackedRows& rows,
                        const PieceTokens& tokens) {
    const int slices = tokens.slices();
    const int lane = threadIdx.x % 32;
    const int first_row = threadIdx.x % kWarpgroup / 32 * 16;
    const bool has_rows = first_row < tile_size_q;
    Output output = {};
#pragma unroll 1
    for (int i = 0; i < slices; ++i) {
      mbarrier_wait(layout_.weights_full(buffer_.index), buffer_.phase);
      if (has_rows) {
        const float upper = load_shared_float(layout_.factor(buffer_.index, first_row + lane / 4));
        const float lower = load_shared_float(layout_.factor(buffer_.index, first_row + lane / 4 + 8));
        // The maximum settles after a few slices; then the accumulators need no scaling.
        if (__any_sync(kAllLanes, upper != 1.0f || lower != 1.0f)) {
#pragma unroll
          for (int part = 0; part < 2; ++part) {
#pragma unroll
            for (int tile = 0; tile < kTiles; ++tile) {
              output[part][tile].r[0] *= upper;
              output[part][tile].r[1] *= upper;
              output[part][tile].r[2] *= lower;
              output[part][tile].r[3] *= lower;
            }
          }
        }
      }
      fence_async_proxy();
      const MatrixDescriptor weights = rows_of_k(layout_.weights() + buffer_.index * (kBlockRowBytes / 2));
      const MatrixDescriptor v = columns_of_k(
          layout_.kv(place_.index) + first_column_ / kBlockElements * kKvBlockBytes, kKvBlockBytes);
      wgmma_begin(output[0], output[1]);
#pragma unroll
      for (int step = 0; step < kSlice / 16; ++step) {
#pragma unroll
        for (int part = 0; part < 2; ++part)
          Wgmma<dtype_kv, kColumns / 2>::template multiply<LayoutB::columns_of_k>(
              output[part], descriptor_behind(weights, step * 32),
              descriptor_behind(v, part * (kBlocksOfPart * kKvBlockBytes) + step * 16 * kBlockRowBytes),
              true);
      }
      wgmma_commit();
      wgmma_wait<0>(output[0], output[1]);
      if (lane == 0) {
        mbarrier_arrive(layout_.kv_empty(place_.index));
        mbarrier_arrive(layout_.weights_empty(buffer_.index));
      }
      place_.advance();
      buffer_.advance();
    }
    mbarrier_wait(layout_.weights_full(buffer_.index), buffer_.phase);
    if (has_rows) store(division, piece, rows, output, first_row, lane);
    __syncwarp();
    if (lane == 0) mbarrier_arrive(layout_.weights_empty(buffer_.index));
    buffer_.advance();
    if (p_.counters != 0 && !piece.is_whole()) reduce(division, piece, rows);
  }

 private:
  // No instruction may name as many registers as a thread has when the kernel starts.
  static constexpr int kTiles = kColumns / 2 / 8;
  static constexpr int kBlocksOfPart = kColumns / 2 / kBlockElements;
  using Output = FragmentD[2][kTiles];

  // To the output or, where blocks share the tile, to the block's slot.
  __device__ void store(const WorkDivision& division, const Piece& piece, const PackedRows& rows,
                        const Output& output, int first_row, int lane) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first_row + lane / 4 + 8 * half;
      if (!rows.holds(row)) continue;
      const float factor = load_shared_float(layout_.factor(buffer_.index, row));
      const float lse = load_shared_float(layout_.lse(buffer_.index, row));
      const int column = first_column_ + (lane & 3) * 2;
      if (piece.is_whole()) {
        const OutputRow target = output_row(rows, piece.sequence, 0, row);
        RowEnd end(p_, target.head);
        const float lse_of_row = end.close(lse);
        store_row<dtype_o>(output, half, target.output(p_) + column * sizeof(dtype_o), factor * end.factor);
        if (column == 0 && p_.lse != 0) store_global_float(p_.lse + 4 * target.index(p_), lse_of_row * kLn2);
      } else {
        const long long partial = static_cast<long long>(division.slot(p_, piece)) * p_.partial_rows + row;
        store_row<fp32>(output, half, p_.partial_o + 4 * (partial * head_dim_v + column), factor);
        if (column == 0) store_global_float(p_.partial_lse + 4 * partial, lse);
      }
    }
  }

  // Of a tile that blocks share: the one that ends last brings their partial results together.
  __device__ void reduce(const WorkDivision& division, const Piece& piece, const PackedRows& rows) const {
    const PartialSlots slots(p_, piece, division.share());
    const int thread = threadIdx.x - kFirstOutputThread;
    synchronize_warps(1, 2 * kWarpgroup);
    if (thread == 0) {
      const GlobalAddress counter =
          p_.counters + 4 * (static_cast<long long>(piece.sequence.index) * p_.q_tiles + piece.q_tile);
      const bool last = add_global(counter, 1) == slots.count - 1;
      if (last) store_global_int(counter, 0);
      store_shared_4(layout_.is_last(), last ? 1 : 0);
    }
    synchronize_warps(1, 2 * kWarpgroup);
    if (load_shared_4(layout_.is_last()) == 0) return;
#pragma unroll 1
    for (int i = thread; i < RowParts::kAll; i += 2 * kWarpgroup) {
      const int row = i / RowParts::kParts;
      const int first = i % RowParts::kParts * RowParts::kElements;
      if (!rows.holds(row)) break;
      PartialSum<RowParts::kElements> sum;
      sum.add(PartialRow(p_, slots, 0, row), first, 0, 1, slots.count);
      const float lse = sum.close();
      const OutputRow target = output_row(rows, piece.sequence, 0, row);
      store_output(p_, target, first, sum.values, RowEnd(p_, target.head), lse);
    }
  }

  template <typename Element>
  __device__ static void store_row(const Output& output, int half, GlobalAddress target, float factor) {
#pragma unroll
    for (int tile = 0; tile < 2 * kTiles; ++tile) {
      const float* const two = output[tile / kTiles][tile % kTiles].r + 2 * half;
      store_two_elements<Element>(target + tile * 8 * sizeof(Element), two[0] * factor, two[1] * factor);
    }
  }

  const AttentionDecodeParameters& p_;
  const SharedLayout& layout_;
  int first_column_;
  RingPlace<stages> place_;
  RingPlace<2> buffer_;
};

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    attention_latent(const __grid_constant__ AttentionDecodeParameters p) {
  extern __shared__ __align__(1024) unsigned char shared[];
  prefetch_look_ups(p);
  const SharedLayout layout{shared_address(shared)};
  if (threadIdx.x == 0) layout.init();
#pragma unroll 1
  for (int i = threadIdx.x; i < kWeightsBytes / 8; i += kThreads)
    store_shared_8(layout.weights() + 8 * i, 0, 0);
  fence_async_proxy();
  wait_for_prerequisites();
  launch_dependents();
  __syncthreads();

  const int block = static_cast<int>(blockIdx.x);
  const int role = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kWarpgroup, 0);
  if (role == 0) {
    give_registers<kCopyRegisters>();
    const WorkDivision division(p, block);
    Copier copier(p, layout);
    for_each_piece(p, division, [&](const Piece& piece, const PackedRows& rows, const PieceTokens& tokens) {
      copier.piece(piece, rows, tokens);
    });
    async_copy_wait<0>();
  } else if (role == 1) {
    give_registers<kScoreRegisters>();
    const WorkDivision division(p, block);
    Scorer scorer(p, layout);
    for_each_piece(p, division, [&](const Piece& piece, const PackedRows& rows, const PieceTokens& tokens) {
      scorer.piece(p, piece, rows, tokens);
    });
  } else {
    take_registers<kOutputRegisters>();
    const WorkDivision division(p, block);
    Accumulator accumulator(p, layout, role - 2);
    for_each_piece(p, division, [&](const Piece& piece, const PackedRows& rows, const PieceTokens& tokens) {
      accumulator.piece(division, piece, rows, tokens);
    });
  }
}

static_assert(attention_latent_reduce_threads == kReduceThreads,
              "the host's formula of the block size differs");

extern "C" __global__ void __launch_bounds__(kReduceThreads, kReduceBlocksPerSm)
    attention_latent_reduce(const __grid_constant__ AttentionDecodeParameters p) {
  reduce_output_row(p);
}

}  // namespace cubinet::attention
