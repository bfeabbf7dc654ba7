// SPDX-License-Identifier: Apache-2.0
#pragma once
// The masks of a tile of `attention_decode_swapped`, in shared memory. A lane needs the masks of a
// quarter of all rows, which do not fit its registers, and few slices need a mask.
#include <cubinet/attention/masks.cuh>
#include <cubinet/attention_decode_swapped/product.cuh>

namespace cubinet::attention_decode_swapped {

class TileMask {
  using Visible = VisibleOf<Shape>;
  using Range = Visible::Range;

 public:
  // Stores the masks to shared memory. All threads must call it; they may call apply() after the
  // next barrier.
  __device__ TileMask(const AttentionDecodeParameters& p, const PackedRows& rows, const Sequence& sequence,
                      const SharedLayout& layout)
      : layout_(layout),
        first_draft_(warp_uniform(sequence.length - sequence.q_len)),
        seen_by_all_{warp_uniform(Visible::to_token(p, sequence, rows.token(tile_size_q - 1)).begin),
                     Shape::kCustomMask ? first_draft_
                                        : warp_uniform(Visible::to_token(p, sequence, rows.token(0)).end)} {
    const int row = static_cast<int>(threadIdx.x);
    if (row >= tile_size_q) return;
    const Range visible = Visible::to_token(p, sequence, rows.token(row));
    const GlobalAddress bits = Shape::kCustomMask ? draft_bits(p, sequence, rows, row) : 0;
    store_shared_16(layout.mask(row),
                    {static_cast<unsigned>(visible.begin), static_cast<unsigned>(visible.end),
                     static_cast<unsigned>(bits), static_cast<unsigned>(bits >> 32)});
  }

  // Sets the logits of hidden tokens to -infinity.
  __device__ void apply(Scores& scores, int first_token) const {
    if (seen_by_all_.holds_all<kSlice>(first_token)) return;
    const ThreadIndex index;
    const int token = first_token + index.warp * 16 + index.lane / 4;
#pragma unroll
    for (int tile = 0; tile < kTilesN; ++tile) {
#pragma unroll
      for (int column = 0; column < 2; ++column) {
        const uint4 of_row = load_shared_16(layout_.mask(tile * 8 + index.lane % 4 * 2 + column));
        const Range visible{static_cast<int>(of_row.x), static_cast<int>(of_row.y)};
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int own = token + 8 * half;
          bool seen = visible.holds(own);
          if constexpr (Shape::kCustomMask) {
            const GlobalAddress bits = static_cast<GlobalAddress>(of_row.w) << 32 | of_row.z;
            seen = seen && !draft_hides(bits, own - first_draft_);
          }
          if (!seen) scores[tile].r[2 * half + column] = negative_infinity();
        }
      }
    }
  }

 private:
  SharedLayout layout_;
  int first_draft_;
  Range seen_by_all_;
};

}  // namespace cubinet::attention_decode_swapped
