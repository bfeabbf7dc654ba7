// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the template `attention_latent` brings KV of e4m3, which is multiplied as fp16: converted once for all
// rows on its way through registers.
#include <cubinet/attention_decode_q.cuh>
#include <cubinet/attention_latent_copy.cuh>

namespace cubinet::attention {

// Q as fp16, each row times a power of two, by threads that have come together and will again.
template <int kThreadsOfAll>
__device__ inline void convert_q(const AttentionDecodeParameters& p, const SharedLayout& layout,
                                 const Sequence& sequence, const PackedRows& rows, int thread) {
  const int chunk = thread % 8;
#pragma unroll 1
  for (int row = thread / 8; row < tile_size_q; row += kThreadsOfAll / 8) {
    const GlobalAddress source = q_row(p, sequence, rows, row) + chunk * 8 * sizeof(dtype_q);
    constexpr int kStep = kBlockElements * int{sizeof(dtype_q)};
    uint4 parts[kBlocksQk];
#pragma unroll
    for (int block = 0; block < kBlocksQk; ++block)
      parts[block] = load_q_part(source + block * kStep);
    float largest = 0.0f;
    if constexpr (is_same<dtype_q, bf16>) {
#pragma unroll
      for (int block = 0; block < kBlocksQk; ++block)
        largest = fmaxf(largest, largest_of_part(parts[block]));
      largest = lanes_max<8>(largest);
    }
    const QFactor of_row(largest);
    const SharedAddress target = layout.q() + swizzled<kBlockRowBytes>(row, chunk);
#pragma unroll
    for (int block = 0; block < kBlocksQk; ++block) {
      unsigned pairs[4];
      q_part_as_fp16(parts[block], of_row.factor, pairs);
      store_shared_16(target + block * kQBlockBytes, pairs);
    }
    if (chunk == 0) store_shared_float(layout.q_scale(row), of_row.scale);
  }
  fence_async_proxy();
}

// As Copier. A thread has 16 elements of each block of two rows; what it has of some blocks is always on its
// way, that of the next slice too.
class Converter {
 public:
  __device__ Converter(const AttentionDecodeParameters& p, const SharedLayout& layout)
      : p_(p), layout_(layout), thread_(threadIdx.x % kWarpgroup), first_row_(layout.first_own_token()) {}

  __device__ void piece(const Piece& piece, const PackedRows&, const PieceTokens& tokens) {
    const int slices = tokens.steps();
    token_ = tokens.begin + row();
    end_ = tokens.end;
    sequence_ = piece.sequence.index;
    look_up();
    aim();
    Ring ring;
#pragma unroll
    for (int i = 0; i < kAhead; ++i)
      load(ring, i);
#pragma unroll 1
    for (int i = 0; i < slices; ++i)
      slice(ring, i & 1);
  }

 private:
  static constexpr int kThreadsOfRow = 4;
  static constexpr int kRowsAtOnce = kWarpgroup / kThreadsOfRow;
  static constexpr int kRows = kOwnTokens / kRowsAtOnce;
  // Of the loads of a slice, a row's part of a block each, as many are on their way.
  static constexpr int kLoads = kBlocksQk * kRows;
  static constexpr int kAhead = 9;
  static_assert(kLoads % kAhead == 0, "a load's place is the same in every slice");
  using Ring = uint4[kAhead];

  __device__ int row() const { return first_row_ + thread_ / kThreadsOfRow; }
  __device__ int part() const { return thread_ % kThreadsOfRow; }

  // The pages of the next slice that is to be aimed at, whose first token of the thread is token_.
  __device__ void look_up() {
    const GlobalAddress table = p_.page_table + 4 * (sequence_ * p_.page_table_stride);
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      const int token = token_ + k * kRowsAtOnce;
      pages_[k] = token < end_ ? load_global_constant_int(table + 4ull * static_cast<unsigned>(token / page_size))
                               : 0;
    }
  }
  __device__ void aim() {
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      const int token = token_ + k * kRowsAtOnce;
      sources_[k] = 0;
      if (token < end_)
        sources_[k] =
            p_.k + pages_[k] * p_.k_page_stride + (token & (page_size - 1)) * p_.k_token_stride + part() * 16;
    }
    token_ += kSlice;
    look_up();
  }
  __device__ void load(Ring& ring, int number) const {
    const GlobalAddress source = sources_[number % kRows];
    ring[number % kAhead] =
        load_global_16_or_zero(source + block_at(number / kRows) * kBlockElements, source != 0);
  }

  __device__ void slice(Ring& ring, int slot) {
    const unsigned parity = (phases_ >> slot & 1) ^ 1;
    // The chunks that eight threads write together lie in all banks.
    const SharedAddress low = layout_.kv(slot) + swizzled<kBlockRowBytes>(row(), 2 * part());
    const SharedAddress high = advanced(low, 1);
#pragma unroll
    for (int position = 0; position < kBlocksQk; ++position) {
      const int block = block_at(position);
      layout_.await_place(slot, block, parity);
#pragma unroll
      for (int k = 0; k < kRows; ++k) {
        const int number = position * kRows + k;
        const uint4 bits = ring[number % kAhead];
        const int place = block * kKvBlockBytes + k * kRowsAtOnce * kBlockRowBytes;
        convert(bits.x, bits.y, low + place);
        convert(bits.z, bits.w, high + place);
        if (number == kLoads - kAhead) aim();
        load(ring, (number + kAhead) % kLoads);
      }
      if (position % kBlocksOfGroup == kBlocksOfGroup - 1) {
        fence_async_proxy();
        announce(slot, position / kBlocksOfGroup);
      }
    }
    phases_ ^= 1u << slot;
  }

  // Each warp sends on what it has converted.
  __device__ void announce(int slot, int group) const {
    if constexpr (kClusterSize == 1) {
      mbarrier_arrive(layout_.kv_full(slot, group));
    } else {
      __syncwarp();
      if (thread_ == 0) {
        constexpr int kBytesOfOther = kBlocksOfGroup * (kSlice - kOwnTokens) * kBlockRowBytes;
        mbarrier_arrive_expect_bytes(layout_.kv_full(slot, group), kBytesOfOther);
      } else {
        mbarrier_arrive(layout_.kv_full(slot, group));
      }
      if (thread_ % 32 < kBlocksOfGroup)
        send(slot, group, block_at(group * kBlocksOfGroup + thread_ % 32));
    }
  }

  __device__ void send(int slot, int group, int block) const {
    constexpr int kRowsOfWarp = 32 / kThreadsOfRow;
    const SharedAddress source =
        layout_.kv(slot) + block * kKvBlockBytes + (first_row_ + thread_ / 32 * kRowsOfWarp) * kBlockRowBytes;
    const int other = static_cast<int>(blockIdx.x & 1) ^ 1;
    bulk_copy_in_cluster(address_in(source, other), source, kRowsOfWarp * kBlockRowBytes,
                         address_in(layout_.kv_full(slot, group), other));
  }

  __device__ static void convert(unsigned first, unsigned second, SharedAddress target) {
    const Fp16Pairs a = unpack4_e4m3(first);
    const Fp16Pairs b = unpack4_e4m3(second);
    store_shared_16(target, {a.low, a.high, b.low, b.high});
  }

  const AttentionDecodeParameters& p_;
  const SharedLayout& layout_;
  int thread_;
  int first_row_;
  int token_ = 0;
  int end_ = 0;
  int sequence_ = 0;
  int pages_[kRows] = {};
  GlobalAddress sources_[kRows] = {};  // 0 behind the piece's end
  unsigned phases_ = 0;                // a bit of each slot
};

}  // namespace cubinet::attention
