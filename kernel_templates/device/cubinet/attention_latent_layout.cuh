// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the warpgroups of the template `attention_latent` meet, and what they walk through.
#include <cubinet/attention_decode_division.cuh>
#include <cubinet/mbarrier.cuh>

namespace cubinet::attention {

// What the warpgroups tell each other by, and where the data lie.
struct SharedLayout {
  SharedAddress base;

  __device__ SharedAddress q() const { return base; }
  __device__ SharedAddress kv(int stage) const { return base + kKvOffset + stage * kStageBytes; }
  __device__ SharedAddress raw(int stage) const { return base + kRawOffset + stage * kRawStageBytes; }
  __device__ SharedAddress q_scale(int row) const { return base + kQScalesOffset + 4 * row; }
  __device__ SharedAddress weights() const { return base + kWeightsOffset; }
  __device__ SharedAddress factor(int buffer, int row) const {
    return base + kFactorsOffset + buffer * kRowFactorsBytes + 4 * row;
  }
  __device__ SharedAddress lse(int buffer, int row) const { return factor(buffer, row) + 4 * kProductRows; }
  __device__ SharedAddress kv_full(int stage) const { return base + kBarriersOffset + 8 * stage; }
  __device__ SharedAddress kv_empty(int stage) const { return kv_full(kPlaces + stage); }
  __device__ SharedAddress weights_full(int buffer) const { return kv_full(2 * kPlaces + buffer); }
  __device__ SharedAddress weights_empty(int buffer) const { return kv_full(2 * kPlaces + 2 + buffer); }
  __device__ SharedAddress q_full() const { return kv_full(2 * kPlaces + 4); }
  __device__ SharedAddress q_empty() const { return kv_full(2 * kPlaces + 5); }
  __device__ SharedAddress is_last() const { return kv_full(2 * kPlaces + 6); }

  __device__ void init() const {
#pragma unroll 1
    for (int stage = 0; stage < kPlaces; ++stage) {
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

}  // namespace cubinet::attention
