// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the template `attention_latent` brings KV of e4m3, which is multiplied as fp16: converted once for all
// rows, by the threads that copied it.
#include <cubinet/attention_decode_q.cuh>
#include <cubinet/attention_latent_copy.cuh>

namespace cubinet::attention {

// As Copier. A thread has every fourth chunk of 16 bytes of one row, whose place in the ring is its own:
// nobody else has to wait for it.
class Converter {
 public:
  __device__ Converter(const AttentionDecodeParameters& p, const SharedLayout& layout)
      : p_(p), layout_(layout), thread_(threadIdx.x % kWarpgroup) {}

  __device__ void piece(const Piece& piece, const PackedRows& rows, const PieceTokens& tokens) {
    const int slices = tokens.slices();
    table_ = p_.page_table + 4 * (piece.sequence.index * p_.page_table_stride);
    next_page_ = page(tokens, 0);
#pragma unroll 1
    for (int i = 0; i < stages; ++i)
      copy(tokens, i, slices, i);
    convert_q(piece.sequence, rows);
    int raw = 0;
#pragma unroll 1
    for (int i = 0; i < slices; ++i) {
      async_copy_wait<stages - 1>();
      mbarrier_wait(layout_.kv_empty(place_.index), place_.phase ^ 1);
      convert(raw);
      fence_async_proxy();
      mbarrier_arrive(layout_.kv_full(place_.index));
      place_.advance();
      copy(tokens, i + stages, slices, raw);
      raw = raw + 1 == stages ? 0 : raw + 1;
    }
  }

 private:
  static constexpr int kThreadsOfRow = kWarpgroup / kSlice;
  static constexpr int kChunks = head_dim_qk / 16 / kThreadsOfRow;
  static_assert(kThreadsOfRow == 4 && kChunks == kBlocksQk, "a thread has a quarter of each block of a row");

  __device__ int row() const {
    return thread_ / kThreadsOfRow;
  }
  __device__ int part() const {
    return thread_ % kThreadsOfRow;
  }

  __device__ int page(const PieceTokens& tokens, int slice) const {
    const int token = tokens.begin + slice * kSlice + row();
    return token < tokens.end
               ? load_global_constant_int(table_ + 4ull * static_cast<unsigned>(token / page_size))
               : 0;
  }

  __device__ void copy(const PieceTokens& tokens, int slice, int slices, int raw) {
    if (slice < slices) {
      const int token = tokens.begin + slice * kSlice + row();
      const GlobalAddress source =
          p_.k + next_page_ * p_.k_page_stride + (token & (page_size - 1)) * p_.k_token_stride + part() * 16;
      next_page_ = page(tokens, slice + 1);
      const SharedAddress target = layout_.raw(raw) + thread_ * 16;
#pragma unroll
      for (int i = 0; i < kChunks; ++i)
        async_copy_16_or_zero(target + i * (kWarpgroup * 16), source + i * (kThreadsOfRow * 16),
                              token < tokens.end);
    }
    async_copy_commit();
  }

  // Both the chunks that eight threads read together and those that they write lie in all banks.
  __device__ void convert(int raw) const {
    const SharedAddress source = layout_.raw(raw) + thread_ * 16;
    const SharedAddress target = layout_.kv(place_.index) + swizzled<kBlockRowBytes>(row(), 2 * part());
#pragma unroll 3
    for (int i = 0; i < kChunks; ++i) {
      const uint4 bits = load_shared_16(source + i * (kWarpgroup * 16));
      const Fp16Pairs a = unpack4_e4m3(bits.x);
      const Fp16Pairs b = unpack4_e4m3(bits.y);
      const Fp16Pairs c = unpack4_e4m3(bits.z);
      const Fp16Pairs d = unpack4_e4m3(bits.w);
      store_shared_16(target + i * kKvBlockBytes, {a.low, a.high, b.low, b.high});
      store_shared_16(advanced(target, 1) + i * kKvBlockBytes, {c.low, c.high, d.low, d.high});
    }
  }

  // Q as fp16, each row times a power of two.
  __device__ void convert_q(const Sequence& sequence, const PackedRows& rows) {
    mbarrier_wait(layout_.q_empty(), q_phase_ ^ 1);
    const int chunk = thread_ % 8;
#pragma unroll 1
    for (int row = thread_ / 8; row < tile_size_q; row += kWarpgroup / 8) {
      const GlobalAddress source = q_row(p_, sequence, rows, row) + chunk * 8 * sizeof(dtype_q);
      constexpr int kStep = kBlockElements * int{sizeof(dtype_q)};
      float largest = 0.0f;
      if constexpr (is_same<dtype_q, bf16>) {
#pragma unroll 3
        for (int block = 0; block < kBlocksQk; ++block)
          largest = fmaxf(largest, largest_of_part(load_q_part(source + block * kStep)));
        largest = lanes_max<8>(largest);
      }
      const QFactor of_row(largest);
      const SharedAddress target = layout_.q() + swizzled<kBlockRowBytes>(row, chunk);
#pragma unroll 3
      for (int block = 0; block < kBlocksQk; ++block) {
        unsigned pairs[4];
        q_part_as_fp16(load_q_part(source + block * kStep), of_row.factor, pairs);
        store_shared_16(target + block * kQBlockBytes, pairs);
      }
      if (chunk == 0) store_shared_float(layout_.q_scale(row), of_row.scale);
    }
    fence_async_proxy();
    mbarrier_arrive(layout_.q_full());
    q_phase_ ^= 1;
  }

  const AttentionDecodeParameters& p_;
  const SharedLayout& layout_;
  int thread_;
  GlobalAddress table_ = 0;
  int next_page_ = 0;
  RingPlace<kPlaces> place_;
  unsigned q_phase_ = 0;
};

template <bool kConverts>
struct CopierOf {
  using Type = Copier;
};
template <>
struct CopierOf<true> {
  using Type = Converter;
};

}  // namespace cubinet::attention
