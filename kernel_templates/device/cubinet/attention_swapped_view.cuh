// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the rows of a tile of the template `attention_decode_swapped` see. A lane has a quarter of them all, too many to
// know in registers what few slices ask.
#include <cubinet/attention_decode_softmax.cuh>
#include <cubinet/attention_swapped_product.cuh>

namespace cubinet::attention {

class TileView {
 public:
  // By all threads; the rows are there after the next barrier.
  __device__ TileView(const AttentionDecodeParameters& p, const PackedRows& rows, const Sequence& sequence,
                      const SharedLayout& layout)
      : layout_(layout),
        first_draft_(of_warp(sequence.length - sequence.q_len)),
        seen_by_all_{of_warp(visible_to(p, sequence, rows.token(tile_size_q - 1)).begin),
                     kCustomMask ? first_draft_ : of_warp(visible_to(p, sequence, rows.token(0)).end)} {
    const int row = static_cast<int>(threadIdx.x);
    if (row >= tile_size_q) return;
    const KvRange visible = visible_to(p, sequence, rows.token(row));
    const GlobalAddress bits = kCustomMask ? draft_bits(p, sequence, rows, row) : 0;
    store_shared_16(layout.view(row), {static_cast<unsigned>(visible.begin), static_cast<unsigned>(visible.end),
                                       static_cast<unsigned>(bits), static_cast<unsigned>(bits >> 32)});
  }

  __device__ void mask(Scores& scores, int first_token) const {
    if (seen_by_all_.holds_slice(first_token)) return;
    const ThreadPlace place;
    const int token = first_token + place.warp * 16 + place.lane / 4;
#pragma unroll
    for (int tile = 0; tile < kTilesN; ++tile) {
#pragma unroll
      for (int column = 0; column < 2; ++column) {
        const uint4 of_row = load_shared_16(layout_.view(tile * 8 + place.lane % 4 * 2 + column));
        const KvRange visible{static_cast<int>(of_row.x), static_cast<int>(of_row.y)};
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int own = token + 8 * half;
          bool seen = visible.holds(own);
          if constexpr (kCustomMask)
            seen = seen && !draft_hides(static_cast<GlobalAddress>(of_row.w) << 32 | of_row.z, own - first_draft_);
          if (!seen) scores[tile].r[2 * half + column] = negative_infinity();
        }
      }
    }
  }

 private:
  SharedLayout layout_;
  int first_draft_;
  KvRange seen_by_all_;
};

}  // namespace cubinet::attention
