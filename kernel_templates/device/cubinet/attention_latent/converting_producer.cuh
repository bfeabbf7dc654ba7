// SPDX-License-Identifier: Apache-2.0
#pragma once
// The producer warpgroup of `attention_latent` if KV is e4m3 and Q has 16 bits. It converts each
// element of KV once for all rows, in registers.
#include <cubinet/attention/q.cuh>
#include <cubinet/attention_latent/producer.cuh>

namespace cubinet::attention_latent {

// Converts Q to fp16 and stores it, each row times a power of two. kThreadsOfAll threads must call
// it, between two barriers.
template <int kThreadsOfAll>
__device__ inline void convert_q(const AttentionDecodeParameters& p, const SharedLayout& layout,
                                 const Sequence& sequence, const PackedRows& rows, int thread) {
  const int chunk = thread % 8;
#pragma unroll 1
  for (int row = thread / 8; row < tile_size_q; row += kThreadsOfAll / 8) {
    const GlobalAddress source = q_row<dtype_q>(p, sequence, rows, row) + chunk * 8 * sizeof(dtype_q);
    constexpr int kStep = kBlockElements * int{sizeof(dtype_q)};
    uint4 parts[kBlocksQk];
#pragma unroll
    for (int block = 0; block < kBlocksQk; ++block)
      parts[block] = load_q_part<dtype_q>(source + block * kStep);
    float largest = 0.0f;
    if constexpr (is_same<dtype_q, bf16>) {
#pragma unroll
      for (int block = 0; block < kBlocksQk; ++block)
        largest = fmaxf(largest, largest_of_part<dtype_q>(parts[block]));
      largest = lanes_max<8>(largest);
    }
    const QFactor<dtype_q> of_row(largest);
    const SharedAddress target = layout.q() + swizzled<kBlockRowBytes>(row, chunk);
#pragma unroll
    for (int block = 0; block < kBlocksQk; ++block) {
      unsigned pairs[4];
      q_part_as_fp16<dtype_q>(parts[block], of_row.factor, pairs);
      store_shared_16(target + block * kQBlockBytes, pairs);
    }
    if (chunk == 0) store_shared_float(layout.q_scale(row), of_row.scale);
  }
  fence_async_proxy();
}

// Copies and converts KV. A thread has 16 elements of each block of two rows. The loads of some
// blocks are always in flight, including those of the next slice. The consumers convert Q.
class ConvertingProducer {
 public:
  __device__ ConvertingProducer(const AttentionDecodeParameters& p, const SharedLayout& layout)
      : p_(p), layout_(layout), thread_(threadIdx.x % kWarpgroup), first_row_(layout.first_own_token()) {}

  __device__ void process(const WorkItem& item, const PackedRows&, const ItemTokens& tokens) {
    const int slices = tokens.steps();
    token_ = tokens.begin + row();
    end_ = tokens.end;
    sequence_ = item.sequence.index;
    look_up();
    compute_sources();
    Ring ring;
#pragma unroll
    for (int i = 0; i < kAhead; ++i)
      load(ring, i);
#pragma unroll 1
    for (int i = 0; i < slices; ++i)
      convert_slice(ring, i & 1);
  }

 private:
  static constexpr int kThreadsOfRow = 4;
  static constexpr int kRowsAtOnce = kWarpgroup / kThreadsOfRow;
  static constexpr int kRows = kOwnTokens / kRowsAtOnce;
  // The loads of a slice (each is the part of a row in one block), and the number of loads in
  // flight.
  static constexpr int kLoads = kBlocksQk * kRows;
  static constexpr int kAhead = 9;
  static_assert(kLoads % kAhead == 0, "a load has the same registers in every slice");
  using Ring = uint4[kAhead];

  __device__ int row() const {
    return first_row_ + thread_ / kThreadsOfRow;
  }
  __device__ int part() const {
    return thread_ % kThreadsOfRow;
  }

  // Looks up the pages of the thread's rows of the next slice, which starts at token_.
  __device__ void look_up() {
    const GlobalAddress table = p_.page_table + 4 * (sequence_ * p_.page_table_stride);
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      const int token = token_ + k * kRowsAtOnce;
      pages_[k] = paged::page_of_token<page_size>(table, token, token < end_);
    }
  }
  // Computes the addresses of the next slice, and looks up the pages of the slice after it.
  __device__ void compute_sources() {
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

  __device__ void convert_slice(Ring& ring, int slot) {
    const unsigned parity = (phases_ >> slot & 1) ^ 1;
    // The chunks that eight threads write together are in different banks.
    const SharedAddress low = layout_.kv(slot) + swizzled<kBlockRowBytes>(row(), 2 * part());
    const SharedAddress high = advanced(low, 1);
#pragma unroll
    for (int position = 0; position < kBlocksQk; ++position) {
      const int block = block_at(position);
      layout_.wait_for_slot(slot, block, parity);
#pragma unroll
      for (int k = 0; k < kRows; ++k) {
        const int number = position * kRows + k;
        const uint4 bits = ring[number % kAhead];
        const int offset = block * kKvBlockBytes + k * kRowsAtOnce * kBlockRowBytes;
        convert_e4m3(bits.x, bits.y, low + offset);
        convert_e4m3(bits.z, bits.w, high + offset);
        if (number == kLoads - kAhead) compute_sources();
        load(ring, (number + kAhead) % kLoads);
      }
      if (position % kBlocksOfGroup == kBlocksOfGroup - 1) {
        fence_async_proxy();
        announce(slot, position / kBlocksOfGroup);
      }
    }
    phases_ ^= 1u << slot;
  }

  // Announces a group of blocks. In a cluster, each warp also sends the rows that it has converted
  // to the other CTA.
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
      if (thread_ % 32 < kBlocksOfGroup) send(slot, group, block_at(group * kBlocksOfGroup + thread_ % 32));
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

  const AttentionDecodeParameters& p_;
  const SharedLayout& layout_;
  int thread_;
  int first_row_;
  int token_ = 0;
  int end_ = 0;
  int sequence_ = 0;
  int pages_[kRows] = {};
  GlobalAddress sources_[kRows] = {};  // 0 after the end of the item
  unsigned phases_ = 0;                // one bit for each slot
};

}  // namespace cubinet::attention_latent
