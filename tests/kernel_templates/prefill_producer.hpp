// SPDX-License-Identifier: Apache-2.0
#pragma once
// In place of the producer warpgroup of attention_prefill_wgmma: what one consumer warp waits for
// arrives at that time, and what it releases becomes NaN at once.
#include "prefill_batch.hpp"

#include <cubinet/attention_prefill_wgmma/loader.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace cubinet {

class PrefillProducer : public BarrierObserver {
 public:
  using Tile = PrefillBatch::Tile;

  PrefillProducer(const PrefillBatch& batch, int consumer)
      : batch_(batch),
        tiles_(batch.tiles()),
        consumer_(consumer),
        q_barrier_(attention_prefill_wgmma::loads_q_apart(batch.parameters()) ? consumer : 0) {
    for (const Tile& tile : tiles_)
      for (int i = 0; tile.sequence >= 0 && i < tile.steps; ++i)
        steps_.push_back({tile, tile.first_step + i});
    shared_memory.fill(kPoison);
    barrier_observer = this;
  }
  PrefillProducer(const PrefillProducer&) = delete;
  PrefillProducer& operator=(const PrefillProducer&) = delete;
  ~PrefillProducer() override { barrier_observer = nullptr; }

  const attention_prefill_wgmma::SharedLayout& layout() const { return layout_; }
  const std::vector<Tile>& tiles() const { return tiles_; }

  // Returns whether the warp has waited for all data, has released all of it, and has waited for
  // nothing that would never have arrived.
  bool is_complete() const {
    const std::size_t tiles = tiles_.size() - 1;
    return !is_stuck_ && tiles_written_ == tiles + 1 && tiles_released_ == tiles && q_.is_complete(tiles) &&
           k_.is_complete(steps_.size()) && v_.is_complete(steps_.size());
  }

  // The lanes of a warp wait together.
  void on_wait(SharedAddress barrier, unsigned parity) override {
    Warp::exchange(0);
    unsigned& phases = phases_[barrier];  // that have ended
    if (phases % 2 != parity) return;
    ++phases;
    for (int slot = 0; slot < attention_prefill_wgmma::kTileSlots; ++slot)
      if (barrier == layout_.tile_full(slot)) return write_tile(slot);
    for (int stage = 0; stage < attention_prefill_wgmma::kQStages; ++stage)
      if (barrier == layout_.q_full(stage, q_barrier_)) return write_q(stage);
    for (int stage = 0; stage < parameters::stages; ++stage) {
      if (barrier == layout_.k_full(stage)) return write_k(stage);
      if (barrier == layout_.v_full(stage)) return write_v(stage);
    }
    is_stuck_ = true;
  }

  void on_arrival(SharedAddress barrier) override {
    using namespace attention_prefill_wgmma;
    for (int slot = 0; slot < kTileSlots; ++slot)
      if (barrier == layout_.tile_empty(slot)) return release_tile(slot);
    for (int stage = 0; stage < kQStages; ++stage)
      if (barrier == layout_.q_empty(stage, consumer_)) return release(q_, layout_.q(stage), kStageBytesQ);
    for (int stage = 0; stage < parameters::stages; ++stage) {
      if (barrier == layout_.k_empty(stage)) return release(k_, layout_.k(stage), kStageBytesK);
      if (barrier == layout_.v_empty(stage)) return release(v_, layout_.v(stage), kStageBytesV);
    }
    is_stuck_ = true;
  }

 private:
  static constexpr std::byte kPoison{0xff};  // of NaN and of no valid number

  struct Step {
    Tile tile;
    int index;
  };
  // The uses of the stages of Q, K or V.
  struct Stages {
    std::size_t count;
    std::size_t written = 0;
    std::size_t released = 0;

    // Returns whether the next use is that of `stage`, and the warp has released it before.
    bool may_write(int stage) const {
      return written % count == static_cast<std::size_t>(stage) && released + count > written;
    }
    bool is_complete(std::size_t uses) const { return written == uses && released == uses; }
  };

  static void poison(SharedAddress first, int bytes) {
    std::fill_n(&shared_memory.at(first), bytes, kPoison);
  }
  static void release(Stages& stages, SharedAddress first, int bytes) {
    ++stages.released;
    poison(first, bytes);
  }

  static int slot_of(std::size_t tile) {
    return static_cast<int>(tile % attention_prefill_wgmma::kTileSlots);
  }
  void write_tile(int slot) {
    is_stuck_ = is_stuck_ || tiles_written_ == tiles_.size() || tiles_released_ != tiles_written_ ||
                slot != slot_of(tiles_written_);
    if (is_stuck_) return;
    store_shared_object(layout_.tile(slot), tiles_[tiles_written_]);
    ++tiles_written_;
  }
  // The tile before the released one may be overwritten.
  void release_tile(int slot) {
    is_stuck_ = is_stuck_ || slot != slot_of(tiles_released_);
    ++tiles_released_;
    if (tiles_released_ > 1)
      poison(layout_.tile(slot_of(tiles_released_ - 2)), attention_prefill_wgmma::kTileBytes);
  }

  // Returns the step or the tile whose data is written to a stage, or null if there is none.
  template <class Use>
  const Use* next(Stages& stages, int stage, const std::vector<Use>& uses) {
    is_stuck_ = is_stuck_ || stages.written >= uses.size() || !stages.may_write(stage);
    return is_stuck_ ? nullptr : &uses[stages.written++];
  }

  void write_q(int stage) {
    using namespace attention_prefill_wgmma;
    const Tile* const tile = next(q_, stage, tiles_);
    if (tile == nullptr || tile->sequence < 0) return;
    const int heads = batch_.sizes().tile_heads;
    for (int row = 0; row < parameters::tile_size_q / heads * heads; ++row) {
      const int token = tile->q_token + row / heads;
      if (token >= tile->q_len) break;
      write_row(layout_.q(stage) + static_cast<unsigned>(row * kBlockRowBytes), kQBlockBytes,
                batch_.q(tile->sequence, token, tile->head + row % heads), PrefillBatch::kColumnsQk);
    }
  }
  // Rows of K after the last token of the sequence remain NaN.
  void write_k(int stage) {
    using namespace attention_prefill_wgmma;
    const Step* const step = next(k_, stage, steps_);
    if (step == nullptr) return;
    for (int row = 0; row < kStep && token_of(*step, row) < step->tile.kv_len; ++row)
      write_row(layout_.k(stage) + row_offset(row, kGroupBytesK), kKvBlockBytes,
                batch_.k(step->tile.sequence, token_of(*step, row), head_kv(*step)),
                PrefillBatch::kColumnsQk);
  }
  // Rows of V that no query token sees are zero.
  void write_v(int stage) {
    using namespace attention_prefill_wgmma;
    const Step* const step = next(v_, stage, steps_);
    if (step == nullptr) return;
    const std::vector<std::uint16_t> zeros(PrefillBatch::kColumnsV);
    const InvisibleRows invisible(batch_.parameters(), step->tile, step->index);
    for (int row = 0; row < kStep; ++row) {
      const bool seen = row >= invisible.begin && row < invisible.end;
      write_row(layout_.v(stage) + row_offset(row, kGroupBytesV), kKvBlockBytes,
                seen ? batch_.v(step->tile.sequence, token_of(*step, row), head_kv(*step)) : zeros.data(),
                PrefillBatch::kColumnsV);
    }
  }

  int head_kv(const Step& step) const { return batch_.parameters().group.quotient(step.tile.head); }
  static int token_of(const Step& step, int row) { return step.index * attention_prefill_wgmma::kStep + row; }
  static SharedAddress row_offset(int row, int group_bytes) {
    return static_cast<SharedAddress>(row / 8 * group_bytes + row % 8 * 128);
  }
  static void write_row(SharedAddress first, int block_bytes, const std::uint16_t* elements, int columns) {
    for (int column = 0; column < columns; ++column)
      store_shared(
          swizzled_address(first + static_cast<unsigned>(column / 64 * block_bytes + column % 64 * 2)),
          elements[column]);
  }

  const PrefillBatch& batch_;
  std::vector<Tile> tiles_;
  std::vector<Step> steps_;
  attention_prefill_wgmma::SharedLayout layout_{0};
  int consumer_;
  int q_barrier_;
  std::map<SharedAddress, unsigned> phases_;
  std::size_t tiles_written_ = 0;
  std::size_t tiles_released_ = 0;
  Stages q_{attention_prefill_wgmma::kQStages};
  Stages k_{parameters::stages};
  Stages v_{parameters::stages};
  bool is_stuck_ = false;
};

}  // namespace cubinet
