// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tiles of a CTA in shared memory. One warp finds and writes them, all others read them.
//
// Tile i has slot i % kTileSlots. A reader that releases a tile no longer needs the tiles before
// it, so a tile is written when all readers have released the one that is kTileSlots - 1 tiles
// before it. The loader of K alone decides when the next tile is found.
#include <cubinet/attention_prefill_wgmma/layout.cuh>
#include <cubinet/attention_prefill_wgmma/schedule.cuh>

namespace cubinet::attention_prefill_wgmma {

// A tile's place in the ring.
struct TilePlace {
  int slot;
  unsigned parity;  // of the phase of the slot's barriers

  // `index` counts the tiles of the CTA.
  __device__ explicit TilePlace(unsigned index)
      : slot(static_cast<int>(index % kTileSlots)), parity(index / kTileSlots % 2) {}
};

// The writer of the tiles. All lanes of one warp must call each function together.
class TileWriter {
 public:
  __device__ explicit TileWriter(const SharedLayout& layout) : layout_(layout) {}

  // Writes the next tile when its slot is free.
  __device__ void write(const Tile& tile) {
    // A tile two rounds later has the same place. Before the first tile, the phase has ended.
    const TilePlace released(written_ + kTileSlots + 1);
    mbarrier_wait(layout_.tile_empty(released.slot), released.parity);
    if (threadIdx.x % 32 == 0) {
      const TilePlace place(written_);
      store_shared_object(layout_.tile(place.slot), tile);
      mbarrier_arrive(layout_.tile_full(place.slot));
    }
    ++written_;
  }
  // Blocks until the reader that wants tiles has called want_next() for the tile that was written
  // last.
  __device__ void wait() const { mbarrier_wait(layout_.tile_wanted(), (written_ - 1) % 2); }

 private:
  const SharedLayout& layout_;
  unsigned written_ = 0;
};

// A reader of the tiles: one warp. All its lanes must call each function together.
class TileReader {
 public:
  __device__ explicit TileReader(const SharedLayout& layout) : layout_(layout) {}

  // Blocks until the next tile is written. Returns false after the last one.
  __device__ bool next() {
    const TilePlace place(read_++);
    mbarrier_wait(layout_.tile_full(place.slot), place.parity);
    return tile().sequence >= 0;
  }
  // Returns the tile. It remains in shared memory until the reader has released the next one.
  __device__ Tile tile() const { return at(read_ - 1); }
  // Returns the tile before it. REQUIRES: the reader has not released the tile.
  __device__ Tile previous() const { return at(read_ - 2); }
  // Must be called once after next() returns true.
  __device__ void release() const {
    __syncwarp();
    if (threadIdx.x % 32 == 0) mbarrier_arrive(layout_.tile_empty(TilePlace(read_ - 1).slot));
  }
  // Lets the writer find the next tile. One of the readers must call it once for each tile.
  __device__ void want_next() const {
    if (threadIdx.x % 32 == 0) mbarrier_arrive(layout_.tile_wanted());
  }

 private:
  __device__ Tile at(unsigned index) const {
    Tile tile;
    load_shared_object(layout_.tile(TilePlace(index).slot), tile);
    return tile;
  }

  const SharedLayout& layout_;
  unsigned read_ = 0;
};

// The tile after one of so few steps is found before it is wanted, because it would be late
// otherwise, unless sequences may have more than kShortKv tokens: a CTA that takes a long tile
// early ends late.
constexpr int kFewSteps = 2;
constexpr int kShortKv = 4 * kStep;
constexpr bool kMayBeEarly = kConsumers < 3;  // the producers of three consumers lack the registers

// The claims of the next tiles. The CTAs of a cluster have the same ones: the first CTA claims a
// tile and sends its index to the other. All lanes of one warp must call each function together.
class TileClaims {
 public:
  __device__ TileClaims(const AttentionPrefillParameters& p, const SharedLayout& layout)
      : p_(p), layout_(layout) {}

  __device__ static int first() { return static_cast<int>(blockIdx.x) / kClusterSize; }
  // Returns the index of the next tile.
  __device__ int next() {
    if constexpr (kClusterSize == 1) return claim();
    const int index = blockIdx.x % kClusterSize == 0 ? claim_and_send() : receive();
    phase_ ^= 1;
    return index;
  }

 private:
  __device__ static bool is_first_lane() { return threadIdx.x % 32 == 0; }

  __device__ int claim() const {
    int index = 0;
    if (is_first_lane())
      index = static_cast<int>(gridDim.x) / kClusterSize + add_global_relaxed(p_.counters, 1);
    return __shfl_sync(kAllLanes, index, 0);
  }
  __device__ int claim_and_send() const {
    const int index = claim();
    mbarrier_wait(layout_.claim_empty(), phase_ ^ 1);
    if (is_first_lane())
      store_in_cluster(address_in(layout_.claim(), 1), index, address_in(layout_.claim_full(), 1));
    __syncwarp();
    return index;
  }
  __device__ int receive() const {
    if (is_first_lane()) mbarrier_arrive_expect_bytes(layout_.claim_full(), sizeof(int));
    __syncwarp();
    mbarrier_wait(layout_.claim_full(), phase_);
    const int index = static_cast<int>(load_shared_4(layout_.claim()));
    __syncwarp();
    if (is_first_lane()) mbarrier_arrive_in_cluster(address_in(layout_.claim_empty(), 0));
    return index;
  }

  const AttentionPrefillParameters& p_;
  const SharedLayout& layout_;
  unsigned phase_ = 0;
};

// Finds all tiles of the CTA. All lanes of one warp must call it.
__device__ inline void find_tiles(const AttentionPrefillParameters& p, const SharedLayout& layout) {
  Schedule schedule(p);
  TileWriter tiles(layout);
  TileClaims claims(p, layout);
  int index = TileClaims::first();
  bool is_early = false;  // whether the next tile is found before it is wanted
#pragma unroll 1
  while (true) {
    const Tile tile = schedule.find(index);
    if (tile.sequence < 0 || tile.steps > 0) {
      if (is_early) tiles.wait();
      tiles.write(tile);
      if (tile.sequence < 0) break;
      is_early = kMayBeEarly && tile.steps <= kFewSteps && p.max_kv_length <= kShortKv;
      if (!is_early) tiles.wait();
    }
    index = claims.next();
  }
  if (threadIdx.x % 32 == 0) release_counters(p);
}

}  // namespace cubinet::attention_prefill_wgmma
