// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the template `attention_decode_wgmma` brings KV of e4m3: a warpgroup of the block copies slices and turns them into
// fp16, once for all rows, which the others multiply. They meet at barriers in shared memory alone.
#include <cubinet/attention_decode_copy.cuh>
#include <cubinet/attention_wgmma_product.cuh>
#include <cubinet/e4m3.cuh>
#include <cubinet/mbarrier.cuh>

namespace cubinet::attention {

// From rows of 8-bit elements to blocks of fp16. Eight threads, whose accesses of 16 bytes the memory serves
// together, have four chunks of two rows whose numbers differ in bits 0 and 2: both the chunks that they read
// and those that they write lie in all banks.
template <int kRowBytes>
class SliceConversion {
  static constexpr int kBlocks = kRowBytes / 64;  // of fp16: a row's groups of four chunks
  static constexpr int kRounds = kSlice / 8 * kBlocks / kWarpsQ;
  static constexpr int kRowsOfRound = 8 * kWarpsQ / kBlocks;

 public:
  __device__ SliceConversion() {
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32 % kWarpsQ;
    const int row = warp / kBlocks * 8 + ((lane >> 3) ^ (lane & 4 ? 5 : 0));
    const int chunk = lane & 3;
    from_ = swizzled<kRowBytes>(row, warp % kBlocks * 4 + chunk);
    to_ = warp % kBlocks * kBlockBytesSlice + swizzled<128>(row, 2 * chunk);
  }

  // What a thread has of a slice.
  struct Raw {
    uint4 bits[kRounds];
  };

  __device__ Raw load(SharedAddress from) const {
    Raw raw;
#pragma unroll
    for (int round = 0; round < kRounds; ++round)
      raw.bits[round] = load_shared_16(from + from_ + round * (kRowsOfRound * kRowBytes));
    return raw;
  }
  __device__ void convert(const Raw& raw, SharedAddress to) const {
    const SharedAddress even = to + to_;
    const SharedAddress odd = advanced(even, 1);
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      const Fp16Pairs a = unpack4_e4m3(raw.bits[round].x);
      const Fp16Pairs b = unpack4_e4m3(raw.bits[round].y);
      const Fp16Pairs c = unpack4_e4m3(raw.bits[round].z);
      const Fp16Pairs d = unpack4_e4m3(raw.bits[round].w);
      store_shared_16(even + round * (kRowsOfRound * 128), {a.low, a.high, b.low, b.high});
      store_shared_16(odd + round * (kRowsOfRound * 128), {c.low, c.high, d.low, d.high});
    }
  }

 private:
  unsigned from_;
  unsigned to_;
};

// Where a warpgroup stands among all slices of the block's pieces. A step has one of two places of converted V, and
// of two barriers of each kind, since one may be a step ahead of another.
class SliceTurn {
 public:
  __device__ int slot() const { return slot_; }
  __device__ int slot_before() const { return slot_ == 0 ? stages - 1 : slot_ - 1; }
  __device__ int place() const { return step_ & 1; }
  __device__ unsigned parity() const { return step_ >> 1 & 1; }
  // Of the step before, if there is one; else of a phase that has ended.
  __device__ int place_before() const { return place() ^ 1; }
  __device__ unsigned parity_before() const { return (step_ - 1) >> 1 & 1; }
  __device__ SliceTurn next() const {
    SliceTurn turn = *this;
    turn.advance();
    return turn;
  }
  __device__ void advance() {
    ++step_;
    slot_ = slot_ + 1 == stages ? 0 : slot_ + 1;
  }

 private:
  int step_ = 0;
  int slot_ = 0;
};

// The shared memory of slices and the barriers between the warpgroups.
class ConvertedRing {
 public:
  __device__ ConvertedRing(SharedAddress ring, SharedAddress barriers) : ring_(ring), barriers_(barriers) {}

  // By one thread.
  __device__ void init() const {
    for (int place = 0; place < 2; ++place) {
      mbarrier_init(k_there(place), kWarpsQ);
      mbarrier_init(v_there(place), kWarpsQ);
      mbarrier_init(done(place), kStoringThreads / 32);
    }
    mbarrier_init(stored(), kStoringThreads / 32);
  }

  __device__ SharedAddress k_slice(int place) const { return ring_ + place % kPlacesK * kConvertedBytesK; }
  __device__ SharedAddress v_slice(int place) const {
    return ring_ + kPlacesK * kConvertedBytesK + place * kConvertedBytesV;
  }
  __device__ SharedAddress raw_k_slice(int slot) const {
    return ring_ + kConvertedBytes + slot * (kSliceBytesK + kSliceBytesV);
  }
  __device__ SharedAddress raw_v_slice(int slot) const { return raw_k_slice(slot) + kSliceBytesK; }

  // K of a step can be multiplied, V too; K was multiplied, and V of the step before.
  __device__ SharedAddress k_there(int place) const { return barriers_ + place * kMbarrierBytes; }
  __device__ SharedAddress v_there(int place) const { return barriers_ + (2 + place) * kMbarrierBytes; }
  __device__ SharedAddress done(int place) const { return barriers_ + (4 + place) * kMbarrierBytes; }
  // A piece's rows, which lay in the same memory as its slices.
  __device__ SharedAddress stored() const { return barriers_ + 6 * kMbarrierBytes; }

 private:
  SharedAddress ring_;
  SharedAddress barriers_;
};

// The warpgroup that copies and converts the slices of a piece.
class SliceConverter {
 public:
  __device__ SliceConverter(const AttentionDecodeParameters& p, int batch, int head_kv, const KvRange& range,
                            int oldest, const ConvertedRing& ring, const SliceTurn& turn)
      : walk_(p, batch, range, 0),
        readable_{maximum(range.begin, oldest), range.end},
        copy_k_(p.k, p.k_page_stride, p.k_token_stride, p.k_head_stride, head_kv,
                threadIdx.x % kGroupThreads),
        copy_v_(p.v, p.v_page_stride, p.v_token_stride, p.v_head_stride, head_kv,
                threadIdx.x % kGroupThreads),
        ring_(ring),
        turn_(turn) {}

  // All slots but one, none of which is in use.
  __device__ void fill() {
    int slot = turn_.slot();
#pragma unroll 1
    for (int index = 0; index < stages - 1; ++index) {
      copy<4>(slot, index);
      slot = slot + 1 == stages ? 0 : slot + 1;
    }
  }

  // Gives where the next piece begins.
  __device__ SliceTurn run() {
#pragma unroll 1
    for (int i = 0; i < walk_.count(); ++i) {
      async_copy_wait<stages - 2>();
      synchronize_group(1);
      const auto raw_k = convert_k_.load(ring_.raw_k_slice(turn_.slot()));
      const auto raw_v = convert_v_.load(ring_.raw_v_slice(turn_.slot()));
      // With two places K waits for the step before the last, as its predecessor did.
      if constexpr (kPlacesK == 1) wait_for_step_before();
      convert_k_.convert(raw_k, ring_.k_slice(turn_.place()));
      arrive(ring_.k_there(turn_.place()));
      if constexpr (kPlacesK == 2) wait_for_step_before();
      convert_v_.convert(raw_v, ring_.v_slice(turn_.place()));
      arrive(ring_.v_there(turn_.place()));
      // To the slot of the slice before, which the whole warpgroup has loaded; last, since loads would wait behind it.
      copy<kSlice>(turn_.slot_before(), i + stages - 1);
      turn_.advance();
    }
    return turn_;
  }

 private:
  __device__ void wait_for_step_before() const {
    mbarrier_wait(ring_.done(turn_.place_before()), turn_.parity_before());
  }
  __device__ static void arrive(SharedAddress barrier) {
    fence_async_proxy();
    __syncwarp();
    if (threadIdx.x % 32 == 0) mbarrier_arrive(barrier);
  }
  // Slices come one after the other: their pages are looked up by as many at a time as a warp has lanes. One look-up a
  // slice would be waited for at the next fence.
  __device__ SlicePages pages_of(int index) {
    const int lane = index % 32;
    if (lane == 0) pages_ = walk_.pages(index + threadIdx.x % 32);
    return of_lane(pages_, lane);
  }
  template <int kAtOnce>
  __device__ void copy(int slot, int index) {
    const SlicePages pages = pages_of(index);
    if (index < walk_.count()) {
      copy_k_.copy<kAtOnce>(ring_.raw_k_slice(slot), walk_.token(index), pages, readable_);
      copy_v_.copy<kAtOnce>(ring_.raw_v_slice(slot), walk_.token(index), pages, readable_);
    }
    async_copy_commit();
  }

  SliceWalk walk_;
  KvRange readable_;
  SliceCopy<kRowBytesK, 0> copy_k_;
  SliceCopy<kRowBytesV, kPageTables - 1> copy_v_;
  SliceConversion<kRowBytesK> convert_k_;
  SliceConversion<kRowBytesV> convert_v_;
  ConvertedRing ring_;
  SliceTurn turn_;
  SlicePages pages_ = {};  // lane i has that of the slices whose number ends in i
};

// The slices of a piece as a warpgroup sees them that multiplies: for slice after slice it calls reach_k, release,
// reach_v, advance.
class ConvertedStream {
 public:
  __device__ ConvertedStream(const AttentionDecodeParameters& p, int batch, const KvRange& range,
                             const ConvertedRing& ring, const SliceTurn& turn)
      : walk_(p, batch, range, 0), ring_(ring), turn_(turn) {}

  __device__ int count() const { return walk_.count(); }
  __device__ int token(int index) const { return walk_.token(index); }
  __device__ SharedAddress k_slice() const { return ring_.k_slice(turn_.place()); }
  __device__ SharedAddress next_k_slice() const { return ring_.k_slice(turn_.next().place()); }
  __device__ SharedAddress v_slice() const { return ring_.v_slice(turn_.place()); }
  __device__ const SliceTurn& turn() const { return turn_; }

  __device__ void reach_k() const { reach_k_of(turn_); }
  __device__ void reach_next_k() const { reach_k_of(turn_.next()); }
  // K of this slice and V of the one before were multiplied.
  __device__ void release() const {
    if (threadIdx.x % 32 == 0) mbarrier_arrive(ring_.done(turn_.place()));
  }
  __device__ void reach_v() const { mbarrier_wait(ring_.v_there(turn_.place()), turn_.parity()); }
  __device__ void advance() { turn_.advance(); }

 private:
  __device__ void reach_k_of(const SliceTurn& turn) const {
    mbarrier_wait(ring_.k_there(turn.place()), turn.parity());
  }

  SliceWalk walk_;
  ConvertedRing ring_;
  SliceTurn turn_;
};

}  // namespace cubinet::attention
