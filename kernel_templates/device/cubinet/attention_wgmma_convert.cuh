// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the template `attention_decode_wgmma` turns KV of e4m3 into what a warpgroup multiplies: once for all
// rows, slice by slice.
#include <cubinet/attention_decode_copy.cuh>
#include <cubinet/e4m3.cuh>
#include <cubinet/mbarrier.cuh>

namespace cubinet::attention {

// From rows of 8-bit elements to blocks of fp16. Eight threads, whose accesses of 16 bytes the memory serves
// together, have four chunks of two rows whose numbers differ in bits 0 and 2: both the chunks that they read
// and those that they write lie in all banks.
// `kMostAtOnce` loads are under way at a time.
template <int kRowBytes, int kMostAtOnce = kSlice>
__device__ inline void convert_slice(SharedAddress from, SharedAddress to) {
  constexpr int kHalves = kRowBytes / 64;  // a row's groups of four chunks: each is a block of fp16
  constexpr int kRounds = kSlice / 8 * kHalves / 4;
  const int lane = threadIdx.x % 32;
  const int row_of_eight = (lane >> 3) ^ (lane & 4 ? 5 : 0);
  const int chunk = lane & 3;
  const int warp = threadIdx.x / 32 % 4;
  constexpr int kAtOnce = minimum(kRounds, kMostAtOnce);
#pragma unroll
  for (int first = 0; first < kRounds; first += kAtOnce) {
    uint4 bits[kAtOnce];
#pragma unroll
    for (int round = 0; round < kAtOnce; ++round) {
      const int part = (first + round) * 4 + warp;
      bits[round] = load_shared_16(
          from + swizzled<kRowBytes>(part / kHalves * 8 + row_of_eight, part % kHalves * 4 + chunk));
    }
#pragma unroll
    for (int round = 0; round < kAtOnce; ++round) {
      const int part = (first + round) * 4 + warp;
      const Fp16Pairs a = unpack4_e4m3(bits[round].x);
      const Fp16Pairs b = unpack4_e4m3(bits[round].y);
      const Fp16Pairs c = unpack4_e4m3(bits[round].z);
      const Fp16Pairs d = unpack4_e4m3(bits[round].w);
      const SharedAddress target =
          to + part % kHalves * (kSlice * 128) + swizzled<128>(part / kHalves * 8 + row_of_eight, 2 * chunk);
      store_shared_16(target, {a.low, a.high, b.low, b.high});
      store_shared_16(advanced(target, 1), {c.low, c.high, d.low, d.high});
    }
  }
}

// As WarpgroupStream; K and V of a slice come together.
class ConvertedStream {
 public:
  __device__ ConvertedStream(const AttentionDecodeParameters& p, int batch, int head_kv, const KvRange& range,
                             int oldest, SharedAddress ring)
      : walk_(p, batch, range, warpgroup_of_block()),
        readable_{maximum(range.begin, oldest), range.end},
        copy_k_(p.k, p.k_page_stride, p.k_token_stride, p.k_head_stride, head_kv,
                threadIdx.x % kGroupThreads),
        copy_v_(p.v, p.v_page_stride, p.v_token_stride, p.v_head_stride, head_kv,
                threadIdx.x % kGroupThreads),
        ring_(ring + warpgroup_of_block() * kGroupBytes) {}

  __device__ int count() const { return walk_.count(); }
  __device__ int token(int index) const { return walk_.token(index); }
  __device__ SharedAddress k_slice() const { return ring_; }
  __device__ SharedAddress v_slice() const { return ring_ + kConvertedBytesK; }

  __device__ void fill() {
    // One load for all look-ups: lane i reads the page of slice i.
    const SlicePages pages = walk_.pages(minimum(threadIdx.x % 32, stages));
    next_pages_ = of_lane(pages, stages);
#pragma unroll 1
    for (slot_ = 0; slot_ < stages; ++slot_) {
      const SlicePages of_slot = of_lane(pages, slot_);
      if (slot_ < count()) copy<4>(slot_, of_slot);
      async_copy_commit();
    }
    slot_ = 0;
  }

  __device__ void prepare_k() const {
    async_copy_wait<stages - 1>();
    synchronize_group(warpgroup_of_block());
    convert_slice<kRowBytesK>(k_raw(), k_slice());
  }
  __device__ void reach_k() const {
    meet();
  }
  __device__ void reach_v() const {
    meet();
  }
  __device__ void work_beside_qk(int) const {
    // Beside the logits a shared block's warpgroup has registers for one.
    convert_slice<kRowBytesV, kSharesBlock ? 1 : kSlice>(k_raw() + kSliceBytesK, v_slice());
  }

  __device__ void work_beside_pv(int index) {
    const SlicePages pages = next_pages_;
    // Read a whole slice ahead of its use, to hide what the look-up takes.
    next_pages_ = walk_.pages(index + 1 + stages);
    if (index + stages < count()) copy<kSlice>(index + stages, pages);
    async_copy_commit();
    slot_ = slot_ + 1 == stages ? 0 : slot_ + 1;
  }

 private:
  // Behind this what the group wrote can be multiplied, and what it read and multiplied before be written.
  __device__ void meet() const {
    fence_async_proxy();
    synchronize_group(warpgroup_of_block());
  }
  __device__ SharedAddress k_raw() const {
    return ring_ + kConvertedBytesK + kConvertedBytesV + slot_ * (kSliceBytesK + kSliceBytesV);
  }
  template <int kAtOnce>
  __device__ void copy(int index, const SlicePages& pages) const {
    copy_k_.copy<kAtOnce>(k_raw(), token(index), pages, readable_);
    copy_v_.copy<kAtOnce>(k_raw() + kSliceBytesK, token(index), pages, readable_);
  }

  SliceWalk walk_;
  KvRange readable_;
  SliceCopy<kRowBytesK, 0> copy_k_;
  SliceCopy<kRowBytesV, kPageTables - 1> copy_v_;
  SharedAddress ring_;
  int slot_ = 0;
  SlicePages next_pages_ = {};
};

}  // namespace cubinet::attention
