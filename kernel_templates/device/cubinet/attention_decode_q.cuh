// SPDX-License-Identifier: Apache-2.0
#pragma once
// How templates of decode attention bring Q into shared memory. A thread takes the same part of every row that
// it brings, so that only the row's part of the addresses is worked out again. Of the template: kThreads and
// kRowBytesQ.
#include <cubinet/async_copy.cuh>
#include <cubinet/attention_decode_rows.cuh>
#include <cubinet/e4m3.cuh>
#include <cubinet/swizzle.cuh>

namespace cubinet::attention {

// Rows of Q of one KV head, each of which `kParts` of the block's threads share.
template <int kParts>
class QRows {
 public:
  static constexpr int kAtOnce = minimum(power_of_two(kThreads / kParts), tile_size_q);
  static constexpr int kIterations = tile_size_q / kAtOnce;
  static constexpr int kPartBytes = head_dim_qk * int{sizeof(dtype_q)} / kParts;

  __device__ QRows(const AttentionDecodeParameters& p, const PackedRows& rows, const Sequence& sequence,
                   int head_kv)
      : rows_(rows),
        base_(p.q +
              sizeof(dtype_q) * (sequence.first_element(p, p.q_batch_stride, p.q_token_stride) +
                                 head_kv * rows.group.divisor * p.q_head_stride) +
              part() * kPartBytes),
        token_step_(p.q_token_stride - rows.group.divisor * p.q_head_stride),
        head_stride_(p.q_head_stride) {}

  __device__ static int part() { return threadIdx.x % kParts; }
  __device__ static int row(int iteration) { return threadIdx.x / kParts + iteration * kAtOnce; }
  // Whole warps have no row where more threads bring than the tile has parts.
  __device__ static bool has_row() {
    return kThreads <= kAtOnce * kParts || static_cast<int>(threadIdx.x) < kAtOnce * kParts;
  }
  // Of a row that there is: behind the last it is the last.
  __device__ GlobalAddress source(int row) const {
    const int packed = minimum(rows_.first + row, rows_.count - 1);
    const int token = rows_.group.quotient(packed);
    return base_ + sizeof(dtype_q) * (token * token_step_ + packed * head_stride_);
  }

 private:
  const PackedRows& rows_;
  GlobalAddress base_;
  long long token_step_;
  long long head_stride_;
};

template <class Layout = SwizzledRows<kRowBytesQ>>
__device__ inline void copy_q(const AttentionDecodeParameters& p, const PackedRows& rows,
                              const Sequence& sequence, int head_kv, SharedAddress q_shared) {
  using Source = QRows<kRowBytesQ / 16>;
  if (!Source::has_row()) return;
  const Source source(p, rows, sequence, head_kv);
#pragma unroll 1
  for (int i = 0; i < Source::kIterations; ++i) {
    const int row = Source::row(i);
    async_copy_16_or_zero(q_shared + Layout::place(row, Source::part()), source.source(row),
                          rows.holds(row));
  }
}

// The power of two by which a row's largest element comes to lie between 1 and 4: fp16 has not the range of
// bf16. `scale` is its inverse, and at least 2^-63, below which a row's logits are as good as 0: a scale of 0
// would make NaN of those that are masked.
__device__ inline float normalising_factor(float largest, float& scale) {
  const auto exponent =
      static_cast<unsigned>(minimum(maximum(static_cast<int>(__float_as_uint(largest) >> 23), 64), 253));
  scale = __uint_as_float(exponent << 23);
  return __uint_as_float((254u - exponent) << 23);
}

// Eight elements of Q as they are converted: those of sixteen bits fill all words, those of eight the first two.
__device__ inline uint4 load_q_part(GlobalAddress source) {
  if constexpr (sizeof(dtype_q) == 1) {
    const uint2 bits = load_global_8(source);
    return make_uint4(bits.x, bits.y, 0, 0);
  } else {
    return load_global_16(source);
  }
}

// The largest magnitude of a part, which is asked of bf16 alone.
__device__ inline float largest_of_part(const uint4& bits) {
  float largest = 0.0f;
  if constexpr (is_same<dtype_q, bf16>) {
    float values[8];
    Vector16<dtype_q>::unpack(bits, values);
#pragma unroll
    for (int i = 0; i < 8; ++i)
      largest = fmaxf(largest, fabsf(values[i]));
  }
  return largest;
}

// What a row is multiplied by, and what its logits have to be multiplied by to make that good.
struct QFactor {
  float factor = 1.0f;
  float scale = 1.0f;

  __device__ explicit QFactor(float largest_of_row) {
    if constexpr (is_same<dtype_q, bf16>) factor = normalising_factor(largest_of_row, scale);
    if constexpr (is_same<dtype_q, e4m3>) scale = kE4m3Scale;
  }
};

// A part as fp16.
__device__ inline void q_part_as_fp16(const uint4& bits, float factor, unsigned (&pairs)[4]) {
  if constexpr (sizeof(dtype_q) == 1) {
    const Fp16Pairs low = unpack4_e4m3(bits.x);
    const Fp16Pairs high = unpack4_e4m3(bits.y);
    pairs[0] = low.low;
    pairs[1] = low.high;
    pairs[2] = high.low;
    pairs[3] = high.high;
  } else if constexpr (is_same<dtype_q, fp16>) {
    pairs[0] = bits.x;
    pairs[1] = bits.y;
    pairs[2] = bits.z;
    pairs[3] = bits.w;
  } else {
    float values[8];
    Vector16<dtype_q>::unpack(bits, values);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      pairs[i] = pack2<fp16>(values[2 * i] * factor, values[2 * i + 1] * factor);
  }
}

// A part as fp16, in the order in which the bytes of K come to the tensor cores: of 16 elements the pairs 0, 2, 4 and 6
// lie before the pairs 1, 3, 5 and 7.
template <class Layout = SwizzledRows<kRowBytesQ>>
__device__ inline void store_q_part(const uint4& bits, float factor, int row, int part, SharedAddress q_shared) {
  unsigned pairs[4];
  q_part_as_fp16(bits, factor, pairs);
  const SharedAddress first = q_shared + Layout::place(row, part / 2 * 2) + part % 2 * 8;
  store_shared_8(first, pairs[0], pairs[2]);
  store_shared_8(advanced(first, 1), pairs[1], pairs[3]);
}

// Q as fp16. Some rows are on their way from the start.
class QConversion {
 public:
  __device__ QConversion(const AttentionDecodeParameters& p, const PackedRows& rows, const Sequence& sequence,
                         int head_kv)
      : source_(p, rows, sequence, head_kv) {
    if (Source::has_row()) load(0);
  }

  // What a row was divided by goes to `scales`.
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
  static constexpr int kParts = head_dim_qk / 8;
  using Source = QRows<kParts>;
  static constexpr int kAtOnce = minimum(Source::kIterations, 4);

  __device__ void load(int first) {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
      bits_[i] = load_q_part(source_.source(Source::row(first + i)));
  }

  __device__ static void convert(const uint4& bits, int row, SharedAddress q_shared, SharedAddress scales) {
    const int part = Source::part();
    float largest = largest_of_part(bits);
    if constexpr (is_same<dtype_q, bf16>) largest = lanes_max<kParts>(largest);
    const QFactor of_row(largest);
    store_q_part(bits, of_row.factor, row, part, q_shared);
    if (part == 0) store_shared_float(scales + 4 * row, of_row.scale);
  }

  Source source_;
  uint4 bits_[kAtOnce];
};

}  // namespace cubinet::attention
