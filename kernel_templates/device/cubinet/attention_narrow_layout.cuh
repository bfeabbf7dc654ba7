// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the warps of the template `attention_latent_narrow` meet, and what they walk through.
#include <cubinet/attention_latent_piece.cuh>
#include <cubinet/mbarrier.cuh>
#include <cubinet/swizzle.cuh>

namespace cubinet::attention {

// What the warps tell each other by, and where the data lie.
struct SharedLayout {
  SharedAddress base;

  __device__ SharedAddress kv(int place) const { return base + place * kPartBytes; }
  __device__ SharedAddress q() const { return base + kQOffset; }
  __device__ SharedAddress scores(int buffer, int row, int token) const {
    return base + kScoresOffset + buffer * kScoresBytes + row * kScoresRowBytes + token * 4;
  }
  // Eight tokens of a row.
  __device__ SharedAddress weights(int buffer, int row, int chunk) const {
    return base + kWeightsOffset + buffer * kWeightsBytes + swizzled<kBlockRowBytes>(row, chunk);
  }
  __device__ SharedAddress factor(int buffer, int row) const {
    return base + kFactorsOffset + buffer * kFactorsBytes + 4 * row;
  }
  __device__ SharedAddress lse(int buffer, int row) const { return factor(buffer, row) + 4 * tile_size_q; }
  __device__ SharedAddress q_scale(int row) const { return base + kQScalesOffset + 4 * row; }
  __device__ SharedAddress piece(int slot) const { return base + kPiecesOffset + slot * kPieceBytes; }

  __device__ SharedAddress kv_full(int place) const { return base + kBarriersOffset + 8 * place; }
  __device__ SharedAddress kv_empty(int place) const { return kv_full(stages + place); }
  __device__ SharedAddress scores_full(int buffer) const { return kv_full(2 * stages + buffer); }
  __device__ SharedAddress scores_empty(int buffer) const { return scores_full(kBuffers + buffer); }
  __device__ SharedAddress weights_full(int buffer) const { return scores_full(2 * kBuffers + buffer); }
  __device__ SharedAddress weights_empty(int buffer) const { return weights_full(kBuffers + buffer); }
  __device__ SharedAddress piece_full(int slot) const { return weights_full(2 * kBuffers + slot); }
  __device__ SharedAddress piece_empty(int slot) const { return piece_full(kPieces + slot); }
  __device__ SharedAddress is_last() const { return piece_full(2 * kPieces); }

  // By one thread.
  __device__ void init() const {
#pragma unroll
    for (int place = 0; place < stages; ++place) {
      mbarrier_init(kv_full(place), kWarpgroup);
      mbarrier_init(kv_empty(place), kOutputWarps);
    }
#pragma unroll
    for (int buffer = 0; buffer < kBuffers; ++buffer) {
      mbarrier_init(scores_full(buffer), kScoreWarps);
      mbarrier_init(scores_empty(buffer), kSoftmaxWarps);
      mbarrier_init(weights_full(buffer), kSoftmaxWarps);
      mbarrier_init(weights_empty(buffer), kOutputWarps);
    }
#pragma unroll
    for (int slot = 0; slot < kPieces; ++slot) {
      mbarrier_init(piece_full(slot), 1);
      mbarrier_init(piece_empty(slot), kScoreWarps + kSoftmaxWarps + kOutputWarps);
    }
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

// A piece, and what the warps that compute have to know of it.
struct BlockPiece {
  Piece piece;
  int slot;   // where the block leaves it, if it shares its tile
  int share;  // units of a block
};

// Which pieces a block has is found out by the warps that copy, and told to the others.
class PieceWriter {
 public:
  __device__ explicit PieceWriter(const SharedLayout& layout) : layout_(layout) {}

  __device__ void tell(const BlockPiece& told) {
    const Piece& piece = told.piece;
    tell({word(piece.sequence.index), word(piece.q_tile), word(piece.tile_begin), word(piece.tile_end)},
         {word(piece.begin), word(piece.end), word(told.slot), word(told.share)});
  }
  __device__ void tell_end() {
    tell({0, 0, 0, 0}, {0, 0, 0, 0});
  }

 private:
  __device__ static unsigned word(int value) {
    return static_cast<unsigned>(value);
  }
  __device__ void tell(const unsigned (&tile)[4], const unsigned (&of_block)[4]) {
    if (threadIdx.x == 0) {
      mbarrier_wait(layout_.piece_empty(place_.index), place_.phase ^ 1);
      store_shared_16(layout_.piece(place_.index), tile);
      store_shared_16(layout_.piece(place_.index) + 16, of_block);
      mbarrier_arrive(layout_.piece_full(place_.index));
    }
    place_.advance();
  }

  const SharedLayout& layout_;
  RingPlace<kPieces> place_;
};

class PieceReader {
 public:
  __device__ explicit PieceReader(const SharedLayout& layout) : layout_(layout) {}

  // Calls `work` for each of the block's pieces.
  template <typename Work>
  __device__ void for_each(const AttentionDecodeParameters& p, Work work) {
#pragma unroll 1
    for (;;) {
      mbarrier_wait(layout_.piece_full(place_.index), place_.phase);
      const uint4 tile = load_shared_16(layout_.piece(place_.index));
      const uint4 of_block = load_shared_16(layout_.piece(place_.index) + 16);
      __syncwarp();
      if (threadIdx.x % 32 == 0) mbarrier_arrive(layout_.piece_empty(place_.index));
      place_.advance();
      if (of_block.x == of_block.y) return;
      work(BlockPiece{{Sequence(p, number(tile.x)), 0, number(tile.y), number(tile.z), number(tile.w),
                       number(of_block.x), number(of_block.y)},
                      number(of_block.z),
                      number(of_block.w)});
    }
  }

 private:
  __device__ static int number(unsigned word) {
    return static_cast<int>(word);
  }

  const SharedLayout& layout_;
  RingPlace<kPieces> place_;
};

}  // namespace cubinet::attention
