// SPDX-License-Identifier: Apache-2.0
#pragma once
// The online softmax of `attention_prefill_wgmma`: a thread has two rows, `row` and `row` + 8.
#include <cubinet/attention/masks.cuh>
#include <cubinet/attention_prefill_wgmma/folded_output.cuh>
#include <cubinet/attention_prefill_wgmma/tile_ring.cuh>

namespace cubinet::attention_prefill_wgmma {

// The scores of a step, and those of one of its parts, whose weights are multiplied together.
using Scores = FragmentD[kStep / 8];
constexpr int kScoreTiles = kPart / 8;
using ScoresOfPart = FragmentD[kScoreTiles];
using Weights = FragmentA[kPart / kProductDepth];
// Weights of e4m3 are multiplied by 2^8: the largest is 256 of at most 448, and the smallest that
// are not rounded to zero are 2^-18 of it.
constexpr float kWeightBits = kTransposesV ? 8.0f : 0.0f;

// Returns the first row of this thread's warpgroup in the tile, and the thread's first row.
__device__ inline int warpgroup_row() {
  return (static_cast<int>(threadIdx.x) / kWarpgroup - 1) * kWarpgroupRows;
}
__device__ inline int thread_row() {
  return (static_cast<int>(threadIdx.x) - kWarpgroup) / 32 * 16 + static_cast<int>(threadIdx.x) % 32 / 4;
}

template <int kIndex>
__device__ inline ScoresOfPart& part_of(Scores& scores) {
  return reinterpret_cast<ScoresOfPart&>(scores[kIndex * kScoreTiles]);
}

// Returns whether a segment of invariant numerics begins with a step. All lanes of the warp must
// call it.
__device__ inline bool begins_segment_at(int step) {
  return __any_sync(kAllLanes, step % kStepsOfSegment == 0);
}

// The tokens that the rows of a tile see. It holds those that all rows of the warpgroup see. Few
// steps have others, so the rest is read from the tile in shared memory.
class Visibility {
 public:
  __device__ Visibility(const AttentionPrefillParameters& p, const TileReader& tiles, const Tile& tile)
      : tiles_(tiles),
        begin_of_all_(begin(p, position(p, tile, warpgroup_row() + kWarpgroupRows - 1))),
        end_of_all_(end(tile, position(p, tile, warpgroup_row()))) {}

  // Sets the scores of invisible tokens of a step to -infinity.
  __device__ void mask(const AttentionPrefillParameters& p, Scores& scores, int step) const {
    const int token = step * kStep;
    if (token + kStep <= end_of_all_ && token >= begin_of_all_) return;
    const Tile tile = tiles_.tile();
    const int column = token + static_cast<int>(threadIdx.x & 3) * 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int own = position(p, tile, thread_row() + 8 * half);
      const int after = end(tile, own) - column;
      const int before = begin(p, own) - column;
#pragma unroll
      for (int part = 0; part < kStep / 8; ++part) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int at = part * 8 + i;
          const bool seen = at < after && (!sliding_window || at >= before);
          if (!seen) scores[part].r[2 * half + i] = negative_infinity();
        }
      }
    }
  }

 private:
  __device__ static int position(const AttentionPrefillParameters& p, const Tile& tile, int row) {
    return tile.prefix() + tile.q_token + p.tile_heads.quotient(row);
  }
  __device__ static int end(const Tile& tile, int position) {
    return kCausal ? minimum(position + 1, tile.kv_len) : tile.kv_len;
  }
  __device__ static int begin(const AttentionPrefillParameters& p, int position) {
    return sliding_window ? position + 1 - p.window : 0;
  }

  const TileReader& tiles_;
  int begin_of_all_;
  int end_of_all_;
};

// The running softmax of a thread's two rows.
class RowSoftmax {
 public:
  __device__ RowSoftmax(const AttentionPrefillParameters& p, const Tile& tile)
      : scale_log2_{scale_log2_of(p, tile), kInvariant ? scale_log2_[0] : scale_log2_of(p, tile)},
        cap_(p, scale_log2_) {
    maxima_[kParts - 1][0] = maxima_[kParts - 1][1] = negative_infinity();
  }

  // Updates the maxima with the scores of a step, one part after the other.
  __device__ void update_maxima(Scores& scores) {
    if constexpr (kInvariant) {
      update_invariant_maxima<0>(scores);
      update_invariant_maxima<kParts - 1>(scores);
    } else {
      update_fast_maxima(scores);
    }
  }

  // Replaces a row's scores by weights, which are relative to its maximum, and adds them to its
  // sum.
  __device__ void weigh(Scores& scores, int half) {
    const float offset = attention::weight_offset(maxima_[0][half]) - kWeightBits;
#pragma unroll
    for (int tile = 0; tile < kScoreTiles; ++tile) {
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        scores[tile].r[i] = exp2_approx(scores[tile].r[i] * scale_log2_[0] - offset);
        sums_[half] += scores[tile].r[i];
      }
    }
  }

  // Do the same for part kIndex of a step, with invariant numerics: weigh_last() for the last
  // kLateTiles tiles of the second row, weigh_first() for all others.
  template <int kIndex>
  __device__ void weigh_first(Scores& scores) {
#pragma unroll
    for (int half = 0; half < 2; ++half)
      sums_[half] = __fmul_rn(sums_[half], corrections_[kIndex][half]);
    weigh_tiles<kIndex, 0, kScoreTiles>(scores, 0);
    weigh_tiles<kIndex, 0, kScoreTiles - kLateTiles>(scores, 1);
  }
  template <int kIndex>
  __device__ void weigh_last(Scores& scores) {
    weigh_tiles<kIndex, kScoreTiles - kLateTiles, kScoreTiles>(scores, 1);
  }

  // Returns `number`. The compiler computes it after the weights of the first row, and with
  // invariant numerics after those of weigh_first(), because it does not know that sums are not
  // negative.
  __device__ unsigned after_weights(unsigned number) const {
    return sums_[0] + (kInvariant ? sums_[1] : corrections_[0][1]) < 0.0f ? ~number : number;
  }

  __device__ void cap(Scores& scores) const {
    cap_.apply(scores);
  }

  // Corrects the output of the parts before part kIndex of a step, and its folded part. After a
  // few parts, most maxima are stable and no correction is needed. A correction by 1 changes no
  // bit. The vote over both rows passes by those of each row, and without it three consumers of
  // e4m3 lack a register.
  //
  // Segments of invariant numerics have few parts, so most corrections are needed. Without votes,
  // the compiler computes them between the weights of weigh_last().
  template <int kIndex>
  __device__ void correct(Output& output, FoldedOutput& folded) const {
    const float(&corrections)[2] = corrections_[kIndex];
    folded.multiply(corrections);
    if constexpr (kLateTiles == 0) {
      if (!__any_sync(kAllLanes, corrections[0] != 1.0f || corrections[1] != 1.0f)) return;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (kLateTiles > 0 || __any_sync(kAllLanes, corrections[half] != 1.0f))
        multiply_row(output, half, corrections[half]);
    }
  }

  // Adds the maxima and sums of a segment of invariant numerics to `folded`, and begins the next
  // segment. `factors` are those of FoldedSegments::add_output().
  __device__ void end_segment(FoldedSegments& folded, attention::FoldFactors (&factors)[2]) {
    folded.add_rows(maxima_[kParts - 1], sums_, factors);
  }

  // Returns the sum of a row's weights, which are multiplied by 2^kWeightBits.
  __device__ float sum(int half) const {
    return lanes_sum<4>(sums_[half]);
  }

  // Returns the largest base-2 logit of a row.
  __device__ float maximum(int half) const {
    return maxima_[kParts - 1][half];
  }

 private:
  __device__ static float scale_log2_of(const AttentionPrefillParameters& p, const Tile& tile) {
    return attention::softmax_scale_log2<kHasHeadScales>(p, tile.sequence, p.group.quotient(tile.head));
  }

  __device__ void update_fast_maxima(const Scores& scores) {
    float(&maxima)[2] = maxima_[0];
    float newest[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      newest[half] = fmaxf(scores[0].r[2 * half], scores[0].r[2 * half + 1]);
#pragma unroll
      for (int tile = 1; tile < kScoreTiles; ++tile)
        newest[half] = fmaxf(newest[half], fmaxf(scores[tile].r[2 * half], scores[tile].r[2 * half + 1]));
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      newest[half] = fmaxf(maxima[half], lanes_max<4>(newest[half]) * scale_log2_[0]);
      corrections_[0][half] = exp2_approx(maxima[half] - attention::weight_offset(newest[half]));
      maxima[half] = newest[half];
      sums_[half] *= corrections_[0][half];
    }
  }

  // The tiles of the second row whose weights are computed beside a correction. Three consumers
  // have no registers for that.
  static constexpr int kLateTiles = kInvariant && kConsumers < 3 ? kScoreTiles / 2 : 0;

  template <int kIndex, int kBegin, int kEnd>
  __device__ void weigh_tiles(Scores& scores, int half) {
    attention::weigh_invariant_tiles<kEnd - kBegin>(scores + kIndex * kScoreTiles + kBegin, half,
                                                    scale_log2_[half], maxima_[kIndex][half], sums_[half]);
  }

  template <int kIndex>
  __device__ void update_invariant_maxima(Scores& scores) {
    constexpr int kBefore = (kIndex + kParts - 1) % kParts;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      maxima_[kIndex][half] = maxima_[kBefore][half];
      corrections_[kIndex][half] = attention::update_invariant_maximum(
          maxima_[kIndex][half], part_of<kIndex>(scores), half, scale_log2_[half]);
    }
  }

  float scale_log2_[2];  // of each row; they are equal
  attention::SoftCap<soft_cap> cap_;
  float maxima_[kParts][2];       // the largest base-2 logits until each part of the newest step
  float corrections_[kParts][2];  // of the sums and the output before the part
  float sums_[2] = {};
};

// Returns the adjacent weights of a product's operand that a lane passes in one register: its
// elements `row` and `row` + 1 of one tile of 16-bit weights, or of two tiles of e4m3. So of the 32
// tokens of a product of e4m3, element 16h + 4q + 2u + e of the operand is token 16h + 8u + 2q + e.
// TransposerOfV stores V in the same order.
template <typename T>
__device__ inline unsigned packed(const ScoresOfPart& scores, int word, int row) {
  if constexpr (is_same<T, e4m3>) {
    const FragmentD& first = scores[2 * word];
    const FragmentD& second = scores[2 * word + 1];
    const float four[4] = {first.r[row], first.r[row + 1], second.r[row], second.r[row + 1]};
    return pack4_e4m3(four);
  } else {
    return pack2<T>(scores[word].r[row], scores[word].r[row + 1]);
  }
}

__device__ inline void pack(Weights& weights, const ScoresOfPart& scores) {
#pragma unroll
  for (int part = 0; part < kPart / kProductDepth; ++part) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      weights[part].r[i] = packed<dtype>(scores, 2 * part + i / 2, i % 2 * 2);
  }
}

}  // namespace cubinet::attention_prefill_wgmma
