// SPDX-License-Identifier: Apache-2.0
#pragma once
// CTAs of attention_prefill_wgmma on the host, with all their warps: one, or clusters of two. Their
// barriers count arrivals and bytes as those of the device do, and boxes are copied at random times
// after the copies' start.
#include "counted_barriers.hpp"
#include "exact_row.hpp"
#include "prefill_batch.hpp"

#include <cubinet/attention_prefill_wgmma/consumer.cuh>
#include <cubinet/attention_prefill_wgmma/loader.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace cubinet {

class PrefillBlock final : public CountedBarriers, public BoxObserver {
 public:
  // Each warp's share of the turns: the copies of Q and K, the zeros of V, the schedule, the copies
  // of V, and each consumer.
  struct Speeds {
    double qk = 1.0;
    double clean = 1.0;
    double find = 1.0;
    double v = 1.0;
    double consumer = 1.0;
    double last_consumer = 1.0;
  };

  // With `is_ragged` false, all sequences have the same number of query tokens, and the kernel gets
  // no offsets.
  PrefillBlock(const PrefillBatch& batch, int page_size, bool is_ragged, unsigned seed, unsigned clusters = 1)
      : batch_(batch), dice_(seed), counters_(2) {
    for (unsigned i = 0; i < clusters * attention_prefill_wgmma::kClusterSize; ++i)
      layouts_.push_back({i * kMostSharedBytes});
    auto& p = maps_.p;
    p = batch.parameters();
    if (!is_ragged) p.q_offsets = 0;
    p.o_batch_stride = p.o_token_stride * p.q_len;
    p.counters = address_of(counters_);
    p.page_size = divisor(page_size);
    p.box_tokens = std::gcd(page_size, attention_prefill_wgmma::kStep);
    p.k_head_stride = p.v_head_stride = PrefillBatch::kColumnsQk;
    make_page_table();
    shared_memory.fill(std::byte{0xff});
    box_observer = this;
  }
  PrefillBlock(const PrefillBlock&) = delete;
  PrefillBlock& operator=(const PrefillBlock&) = delete;
  ~PrefillBlock() override { box_observer = nullptr; }

  // Runs the kernel. Returns what warps wait for if they wait for each other.
  std::string run(const Speeds& speeds) {
    using namespace attention_prefill_wgmma;
    gridDim.x = static_cast<unsigned>(layouts_.size());
    std::vector<Warp::Task> warps;
    for (unsigned block = 0; block < layouts_.size(); ++block) {
      const SharedLayout& layout = layouts_[block];
      layout.init();
      const auto add = [&](unsigned warp, double speed, std::function<void()> of_lane) {
        warps.push_back({std::move(of_lane), warp, speed, block, block});
      };
      add(0, speeds.qk, [&] { load_qk_tiles(maps_, layout); });
      add(1, speeds.clean, [&] { clean_tiles(maps_.p, layout); });
      add(2, speeds.find, [&] { find_tiles(maps_.p, layout); });
      add(3, speeds.v, [&] { load_v_tiles(maps_, layout); });
      for (unsigned warp = 0; warp < 4 * kConsumers; ++warp)
        add(4 + warp, warp + 1 < 4 * kConsumers ? speeds.consumer : speeds.last_consumer,
            [this, &layout, warp] { Consumer(maps_.p, layout, static_cast<int>(warp / 4)).run(); });
    }
    const double events = kClusterSize == 1 ? 0.0 : 2.0;  // messages between CTAs
    std::string waiting = Warp::run_together(warps, static_cast<unsigned>(dice_()), events);
    gridDim.x = 1;
    Events::clear();
    return waiting;
  }

  // Returns the counters in device memory, which a run leaves at zero.
  const std::vector<std::int32_t>& counters() const { return counters_; }

  void on_copy(SharedAddress target, const void* map, const std::vector<int>& coordinates,
               SharedAddress barrier) override {
    copies_.push_back({target, map, coordinates, barrier});
  }

 private:
  static constexpr std::uint16_t kNan = 0x7fc0;

  struct Copy {
    SharedAddress target;
    const void* map;
    std::vector<int> coordinates;
    SharedAddress barrier;
  };

  // Gives the pages of all sequences random numbers.
  void make_page_table() {
    auto& p = maps_.p;
    const int pages = divide_up(p.max_kv_length, p.page_size.divisor);
    p.page_table_stride = pages + 3;
    page_table_.resize(static_cast<std::size_t>(p.batch * p.page_table_stride));
    std::iota(page_table_.begin(), page_table_.end(), 0);
    std::shuffle(page_table_.begin(), page_table_.end(), dice_);
    p.page_table = address_of(page_table_);
  }

  // Completes one of the copies that have been started, or none.
  void while_waiting() override {
    if (copies_.empty()) return;
    std::swap(copies_[dice_() % copies_.size()], copies_.back());
    const Copy copy = std::move(copies_.back());
    copies_.pop_back();
    on_bytes(copy.barrier, static_cast<unsigned>(copy.map == &maps_.q ? copy_q(copy) : copy_kv(copy)));
  }

  // Copies a box of 64 columns: heads of tokens. Returns its bytes.
  int copy_q(const Copy& copy) {
    using namespace attention_prefill_wgmma;
    const auto& p = maps_.p;
    const int heads = p.tile_heads.divisor;
    const int rows = (loads_q_apart(p) ? kWarpgroupRows : parameters::tile_size_q) / heads * heads;
    const int token_of_batch = copy.coordinates[2] + copy.coordinates[3] * p.q_len;
    for (int row = 0; row < rows; ++row) {
      const std::uint16_t* const q =
          batch_.q_of_batch(token_of_batch + row / heads, copy.coordinates[1] + row % heads);
      write_row(copy.target + static_cast<unsigned>(row * kBlockRowBytes), q, copy.coordinates[0], 1, 0);
    }
    return rows * kBlockRowBytes;
  }

  // Copies a box of all columns of a part of a page. Returns its bytes.
  int copy_kv(const Copy& copy) {
    using namespace attention_prefill_wgmma;
    const auto& p = maps_.p;
    const int head = copy.coordinates[2] / (PrefillBatch::kColumnsQk / 64);
    const auto entry =
        std::find(page_table_.begin(), page_table_.end(), copy.coordinates[4]) - page_table_.begin();
    const int sequence = static_cast<int>(entry / p.page_table_stride);
    const int first =
        static_cast<int>(entry % p.page_table_stride) * p.page_size.divisor + copy.coordinates[3] * 8;
    for (int row = 0; row < p.box_tokens; ++row) {
      const bool has_page = copy.coordinates[4] >= 0;
      const std::uint16_t* elements = has_page ? nans_.data() : zeros_.data();
      if (has_page && first + row < batch_.kv_len(sequence))
        elements = copy.map == &maps_.k ? batch_.k(sequence, first + row, head)
                                        : batch_.v(sequence, first + row, head);
      write_row(copy.target + static_cast<unsigned>(row / 8 * kGroupBytesK + row % 8 * kBlockRowBytes),
                elements, 0, kBlocksQk, kKvBlockBytes);
    }
    return p.box_tokens * kBlocksQk * kBlockRowBytes;
  }

  static void write_row(SharedAddress first, const std::uint16_t* elements, int column, int blocks,
                        int block_bytes) {
    for (int i = 0; i < 64 * blocks; ++i)
      store_shared(swizzled_address(first + static_cast<unsigned>(i / 64 * block_bytes + i % 64 * 2)),
                   elements[column + i]);
  }

  const PrefillBatch& batch_;
  std::mt19937 dice_;
  kernel_templates::AttentionPrefillMapParameters maps_ = {};
  std::vector<attention_prefill_wgmma::SharedLayout> layouts_;  // of the CTAs
  std::vector<std::int32_t> counters_;
  std::vector<std::int32_t> page_table_;
  std::vector<std::uint16_t> nans_ = std::vector<std::uint16_t>(PrefillBatch::kColumnsQk, kNan);
  std::vector<std::uint16_t> zeros_ = std::vector<std::uint16_t>(PrefillBatch::kColumnsQk);
  std::vector<Copy> copies_;
};

// Returns the number of rows of a batch that differ from float64.
inline int wrong_rows(const PrefillBatch& batch) {
  int wrong = 0;
  for (int sequence = 0; sequence < batch.sequences(); ++sequence) {
    for (int token = 0; token < batch.q_len(sequence); ++token) {
      for (int head = 0; head < batch.sizes().heads_q; ++head) {
        const std::size_t row = batch.output_row(sequence, token, head);
        if (!ExactRow(batch, sequence, token, head)
                 .is_close(&batch.output[row * PrefillBatch::kColumnsV], batch.lse[row]))
          ++wrong;
      }
    }
  }
  return wrong;
}

}  // namespace cubinet
