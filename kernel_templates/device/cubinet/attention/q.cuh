// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies Q to shared memory, unchanged or converted to fp16. A thread copies the same part of each
// of its rows, so only the row's share of an address is computed again.
//
// Shape: Q, kHeadDimQk, kTileQ, kRowBytesQ
//        kThreads   threads of a CTA
#include <cubinet/async_copy.cuh>
#include <cubinet/attention/rows.cuh>
#include <cubinet/attention/shape.cuh>
#include <cubinet/swizzle.cuh>

namespace cubinet::attention {

// The rows of Q of one KV head. `kParts` of the CTA's threads share a row.
template <class Shape, int kParts>
class QRowsOf {
 public:
  using Q = typename Shape::Q;
  static constexpr int kAtOnce = minimum(power_of_two(Shape::kThreads / kParts), Shape::kTileQ);
  static constexpr int kIterations = Shape::kTileQ / kAtOnce;
  static constexpr int kPartBytes = Shape::kHeadDimQk * int{sizeof(Q)} / kParts;

  template <class Parameters>
  __device__ QRowsOf(const Parameters& p, const PackedRows& rows, const Sequence& sequence, int head_kv)
      : rows_(rows),
        base_(p.q +
              sizeof(Q) * (sequence.first_element(p, p.q_batch_stride, p.q_token_stride) +
                           head_kv * rows.group.divisor * p.q_head_stride) +
              part() * kPartBytes),
        token_step_(p.q_token_stride - rows.group.divisor * p.q_head_stride),
        head_stride_(p.q_head_stride) {}

  __device__ static int part() { return threadIdx.x % kParts; }
  __device__ static int row(int iteration) { return threadIdx.x / kParts + iteration * kAtOnce; }
  // Returns whether the thread copies any row. False for whole warps only: a CTA may have more
  // threads than the tile has parts.
  __device__ static bool has_row() {
    return Shape::kThreads <= kAtOnce * kParts || static_cast<int>(threadIdx.x) < kAtOnce * kParts;
  }
  // Returns the address of the thread's part of a row, or of the last row for rows after it.
  __device__ GlobalAddress source(int row) const {
    const int packed = minimum(rows_.first + row, rows_.count - 1);
    const int token = rows_.group.quotient(packed);
    return base_ + sizeof(Q) * (token * token_step_ + packed * head_stride_);
  }

 private:
  const PackedRows& rows_;
  GlobalAddress base_;
  long long token_step_;
  long long head_stride_;
};

// Copies Q unchanged with cp.async, without a commit. Rows that the tile does not have become
// zeros, and so do bytes from `kColumnBytes` on. All threads of the CTA must call it.
template <class Shape, class Layout = SwizzledRows<Shape::kRowBytesQ>, int kColumnBytes = Shape::kRowBytesQ,
          class Parameters>
__device__ inline void copy_q(const Parameters& p, const PackedRows& rows, const Sequence& sequence,
                              int head_kv, SharedAddress q_shared) {
  using Source = QRowsOf<Shape, Shape::kRowBytesQ / 16>;
  if (!Source::has_row()) return;
  const Source source(p, rows, sequence, head_kv);
#pragma unroll 1
  for (int i = 0; i < Source::kIterations; ++i) {
    const int row = Source::row(i);
    async_copy_part_or_zero<kColumnBytes>(q_shared + Layout::place(row, Source::part()), source.source(row),
                                          Source::part(), rows.holds(row));
  }
}

// Returns the power of two that scales a row's largest element to between 1 and 4, because fp16
// lacks the range of bf16. Sets `scale` to its inverse, but to at least 2^-63: below that a row's
// logits are effectively 0, and a scale of 0 would make NaN of masked logits.
__device__ inline float normalising_factor(float largest, float& scale) {
  const auto exponent =
      static_cast<unsigned>(minimum(maximum(static_cast<int>(__float_as_uint(largest) >> 23), 64), 253));
  scale = __uint_as_float(exponent << 23);
  return __uint_as_float((254u - exponent) << 23);
}

// Loads 8 elements of Q. 16-bit elements fill all words, 8-bit elements the first two.
template <typename Q>
__device__ inline uint4 load_q_part(GlobalAddress source) {
  if constexpr (sizeof(Q) == 1) {
    const uint2 bits = load_global_8(source);
    return make_uint4(bits.x, bits.y, 0, 0);
  } else {
    return load_global_16(source);
  }
}

// Returns the largest magnitude of a part of bf16, or 0 for other types, which need no scale.
template <typename Q>
__device__ inline float largest_of_part(const uint4& bits) {
  float largest = 0.0f;
  if constexpr (is_same<Q, bf16>) {
    float values[8];
    Vector16<Q>::unpack(bits, values);
#pragma unroll
    for (int i = 0; i < 8; ++i)
      largest = fmaxf(largest, fabsf(values[i]));
  }
  return largest;
}

// The factor of the elements of a row, and the scale of its logits that compensates for it.
template <typename Q>
struct QFactor {
  float factor = 1.0f;
  float scale = 1.0f;

  __device__ explicit QFactor(float largest_of_row) {
    if constexpr (is_same<Q, bf16>) factor = normalising_factor(largest_of_row, scale);
    if constexpr (is_same<Q, e4m3>) scale = kE4m3Scale;
  }
};

template <typename Q>
__device__ inline void q_part_as_fp16(const uint4& bits, float factor, unsigned (&pairs)[4]) {
  if constexpr (sizeof(Q) == 1) {
    const Fp16Pairs low = unpack4_e4m3(bits.x);
    const Fp16Pairs high = unpack4_e4m3(bits.y);
    pairs[0] = low.low;
    pairs[1] = low.high;
    pairs[2] = high.low;
    pairs[3] = high.high;
  } else if constexpr (is_same<Q, fp16>) {
    pairs[0] = bits.x;
    pairs[1] = bits.y;
    pairs[2] = bits.z;
    pairs[3] = bits.w;
  } else {
    float values[8];
    Vector16<Q>::unpack(bits, values);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      pairs[i] = pack2<fp16>(values[2 * i] * factor, values[2 * i + 1] * factor);
  }
}

// Stores a part as fp16 in the order in which the bytes of K reach the tensor cores: of 16
// elements, the pairs 0, 2, 4 and 6 precede the pairs 1, 3, 5 and 7.
template <typename Q, class Layout>
__device__ inline void store_q_part(const uint4& bits, float factor, int row, int part,
                                    SharedAddress q_shared) {
  unsigned pairs[4];
  q_part_as_fp16<Q>(bits, factor, pairs);
  const SharedAddress first = q_shared + Layout::place(row, part / 2 * 2) + part % 2 * 8;
  store_shared_8(first, pairs[0], pairs[2]);
  store_shared_8(advanced(first, 1), pairs[1], pairs[3]);
}

// Converts Q to fp16. The constructor starts to load the first rows; finish() stores all rows. All
// threads of the CTA must call both.
template <class Shape>
class QConversionOf {
  using Q = typename Shape::Q;

 public:
  __device__ QConversionOf(const AttentionDecodeParameters& p, const PackedRows& rows,
                           const Sequence& sequence, int head_kv)
      : source_(p, rows, sequence, head_kv) {
    if (Source::has_row()) load(0);
  }

  // Stores all rows to `q_shared`, and the scale of the logits of each row to `scales`.
  __device__ void finish(SharedAddress q_shared, SharedAddress scales) {
    if (!Source::has_row()) return;
#pragma unroll 1
    for (int first = 0; first < Source::kIterations; first += kAtOnce) {
      if (first > 0) load(first);
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i)
        convert(bits_[i], Source::row(first + i), q_shared, scales);
    }
  }

 private:
  static constexpr int kParts = Shape::kHeadDimQk / 8;
  using Source = QRowsOf<Shape, kParts>;
  static constexpr int kAtOnce = minimum(Source::kIterations, 4);

  __device__ void load(int first) {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
      bits_[i] = load_q_part<Q>(source_.source(Source::row(first + i)));
  }

  __device__ static void convert(const uint4& bits, int row, SharedAddress q_shared, SharedAddress scales) {
    const int part = Source::part();
    float largest = largest_of_part<Q>(bits);
    if constexpr (is_same<Q, bf16>) largest = lanes_max<kParts>(largest);
    const QFactor<Q> of_row(largest);
    store_q_part<Q, SwizzledRows<Shape::kRowBytesQ>>(bits, of_row.factor, row, part, q_shared);
    if (part == 0) store_shared_float(scales + 4 * row, of_row.scale);
  }

  Source source_;
  uint4 bits_[kAtOnce];
};

}  // namespace cubinet::attention
