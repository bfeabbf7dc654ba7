// SPDX-License-Identifier: Apache-2.0
#pragma once
// The shared memory, the barriers and the queue of work items of `attention_latent_narrow`.
#include <cubinet/attention/latent.cuh>
#include <cubinet/attention_latent_narrow/shape.cuh>
#include <cubinet/mbarrier.cuh>
#include <cubinet/swizzle.cuh>

namespace cubinet::attention_latent_narrow {

using ItemTokens = ItemTokensOf<Shape>;
using WorkDivision = WorkDivisionOf<Shape>;

struct SharedLayout {
  SharedAddress base;

  __device__ SharedAddress kv(int slot) const { return base + slot * kPartBytes; }
  __device__ SharedAddress q() const { return base + kQOffset; }
  __device__ SharedAddress scores(int buffer, int row, int token) const {
    return base + kScoresOffset + buffer * kScoresBytes + row * kScoresRowBytes + token * 4;
  }
  // Returns the address of the weights of eight tokens of a row.
  __device__ SharedAddress weights(int buffer, int row, int chunk) const {
    return base + kWeightsOffset + buffer * kWeightsBytes + swizzled<kBlockRowBytes>(row, chunk);
  }
  __device__ SharedAddress factor(int buffer, int row) const {
    return base + kFactorsOffset + buffer * kFactorsBytes + 4 * row;
  }
  __device__ SharedAddress lse(int buffer, int row) const { return factor(buffer, row) + 4 * tile_size_q; }
  __device__ SharedAddress q_scale(int row) const { return base + kQScalesOffset + 4 * row; }
  __device__ SharedAddress item(int slot) const { return base + kItemsOffset + slot * kItemBytes; }

  __device__ SharedAddress kv_full(int slot) const { return base + kBarriersOffset + 8 * slot; }
  __device__ SharedAddress kv_empty(int slot) const { return kv_full(stages + slot); }
  __device__ SharedAddress scores_full(int buffer) const { return kv_full(2 * stages + buffer); }
  __device__ SharedAddress scores_empty(int buffer) const { return scores_full(kBuffers + buffer); }
  __device__ SharedAddress weights_full(int buffer) const { return scores_full(2 * kBuffers + buffer); }
  __device__ SharedAddress weights_empty(int buffer) const { return weights_full(kBuffers + buffer); }
  __device__ SharedAddress item_full(int slot) const { return weights_full(2 * kBuffers + slot); }
  __device__ SharedAddress item_empty(int slot) const { return item_full(kItems + slot); }
  __device__ SharedAddress is_last() const { return item_full(2 * kItems); }

  // Initialises all barriers. One thread must call it.
  __device__ void init() const {
#pragma unroll
    for (int slot = 0; slot < stages; ++slot) {
      mbarrier_init(kv_full(slot), kWarpgroup);
      mbarrier_init(kv_empty(slot), kOutputWarps);
    }
#pragma unroll
    for (int buffer = 0; buffer < kBuffers; ++buffer) {
      mbarrier_init(scores_full(buffer), kScoreWarps);
      mbarrier_init(scores_empty(buffer), kSoftmaxWarps);
      mbarrier_init(weights_full(buffer), kSoftmaxWarps);
      mbarrier_init(weights_empty(buffer), kOutputWarps);
    }
#pragma unroll
    for (int slot = 0; slot < kItems; ++slot) {
      mbarrier_init(item_full(slot), 1);
      mbarrier_init(item_empty(slot), kScoreWarps + kSoftmaxWarps + kOutputWarps);
    }
  }
};

// The next slot of a ring, and the parity of the phase of its barrier.
template <int kSlots>
struct PipelineState {
  int index = 0;
  unsigned phase = 0;

  __device__ void advance() {
    if (++index == kSlots) {
      index = 0;
      phase ^= 1;
    }
  }
};

// A work item as the producer sends it to the other warps.
struct SentItem {
  WorkItem item;
  int slot;   // index of its partial result in the workspace, if CTAs share its tile
  int share;  // units of KV that each CTA processes (work_division.cuh)
};

// The producer's end of the queue. The producer finds the work items of the CTA. All of its threads
// must call send() and send_end().
class ItemWriter {
 public:
  __device__ explicit ItemWriter(const SharedLayout& layout) : layout_(layout) {}

  __device__ void send(const SentItem& sent) {
    const WorkItem& item = sent.item;
    send({word(item.sequence.index), word(item.q_tile), word(item.tile_begin), word(item.tile_end)},
         {word(item.begin), word(item.end), word(sent.slot), word(sent.share)});
  }
  __device__ void send_end() { send({0, 0, 0, 0}, {0, 0, 0, 0}); }

 private:
  __device__ static unsigned word(int value) { return static_cast<unsigned>(value); }
  __device__ void send(const unsigned (&tile)[4], const unsigned (&of_block)[4]) {
    if (threadIdx.x == 0) {
      mbarrier_wait(layout_.item_empty(state_.index), state_.phase ^ 1);
      store_shared_16(layout_.item(state_.index), tile);
      store_shared_16(layout_.item(state_.index) + 16, of_block);
      mbarrier_arrive(layout_.item_full(state_.index));
    }
    state_.advance();
  }

  const SharedLayout& layout_;
  PipelineState<kItems> state_;
};

class ItemReader {
 public:
  __device__ explicit ItemReader(const SharedLayout& layout) : layout_(layout) {}

  // Calls `work` for each work item of the CTA.
  template <typename Work>
  __device__ void for_each(const AttentionDecodeParameters& p, Work work) {
#pragma unroll 1
    for (;;) {
      mbarrier_wait(layout_.item_full(state_.index), state_.phase);
      const uint4 tile = load_shared_16(layout_.item(state_.index));
      const uint4 of_block = load_shared_16(layout_.item(state_.index) + 16);
      __syncwarp();
      if (threadIdx.x % 32 == 0) mbarrier_arrive(layout_.item_empty(state_.index));
      state_.advance();
      if (of_block.x == of_block.y) return;
      work(SentItem{{Sequence(p, number(tile.x)), 0, number(tile.y), number(tile.z), number(tile.w),
                     number(of_block.x), number(of_block.y)},
                    number(of_block.z),
                    number(of_block.w)});
    }
  }

 private:
  __device__ static int number(unsigned word) {
    return static_cast<int>(word);
  }

  const SharedLayout& layout_;
  PipelineState<kItems> state_;
};

}  // namespace cubinet::attention_latent_narrow
