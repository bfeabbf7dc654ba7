// SPDX-License-Identifier: Apache-2.0
#pragma once
// CTAs of attention_latent on the host, with all their warps. Barriers count as those of the device
// do, copies arrive at random times, and what the readers have released becomes NaN.
#include "counted_barriers.hpp"
#include "latent_batch.hpp"

#include <algorithm>
#include <array>
#include <attention_latent.cu>
#include <cstddef>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace cubinet {

namespace attention_latent {
extern "C" {
unsigned char shared[1];  // shared_address() does not use it
}
}  // namespace attention_latent

class LatentBlocks final : public CountedBarriers {
 public:
  // Each warp's share of the turns, and the events of a turn.
  struct Speeds {
    double first_producer = 1.0;  // the first warp of the producer
    double producer = 1.0;
    double consumer_0 = 1.0;
    double consumer_1 = 1.0;
    double odd_blocks = 1.0;  // a factor of the CTAs with an odd index
    double events = 2.0;
    double pauses = 0.0;  // the probability of one after a turn of a warp
  };

  LatentBlocks(const LatentBatch& batch, unsigned seed) : batch_(batch), dice_(seed) {}

  // Runs the kernel, some CTAs at a time, in a random order. Returns an empty string, or what is
  // wrong.
  std::string run(const Speeds& speeds) {
    using attention_latent::kClusterSize;
    const auto blocks = static_cast<unsigned>(batch_.sizes().blocks);
    std::vector<unsigned> clusters(blocks / kClusterSize);
    std::iota(clusters.begin(), clusters.end(), 0);
    std::shuffle(clusters.begin(), clusters.end(), dice_);
    blockDim.x = attention_latent::Shape::kThreads;
    for (std::size_t first = 0; first < clusters.size();) {
      const std::size_t count =
          std::min<std::size_t>(1 + dice_() % (kMostBlocks / kClusterSize), clusters.size() - first);
      std::vector<unsigned> together;
      for (std::size_t i = first; i < first + count; ++i)
        for (unsigned rank = 0; rank < kClusterSize; ++rank)
          together.push_back(clusters[i] * kClusterSize + rank);
      const std::string wrong = run_together(together, speeds);
      if (!wrong.empty()) return wrong;
      first += count;
    }
    return {};
  }

  void on_arrival(SharedAddress barrier) override {
    CountedBarriers::on_arrival(barrier);
    if (Warp::is_running()) return poison_released(barrier);
    arrives_late_ = arrives_late_ || ended_warps_[barrier / kMostSharedBytes] == kWarps;
  }
  void on_message(SharedAddress barrier) override {
    if (kSendsSlots) poison_released(barrier);
  }

 private:
  std::string run_together(const std::vector<unsigned>& blocks, const Speeds& speeds) {
    shared_memory.fill(kPoison);
    AsyncCopies::clear();
    NamedBarriers::clear();
    arrivals_.clear();
    ended_warps_ = {};
    std::vector<Warp::Task> warps;
    for (unsigned slot = 0; slot < blocks.size(); ++slot) {
      for (unsigned warp = 0; warp < kWarps; ++warp) {
        const double speed = warp == 0  ? speeds.first_producer
                             : warp < 4 ? speeds.producer
                             : warp < 8 ? speeds.consumer_0
                                        : speeds.consumer_1;
        warps.push_back({[this] { run_lane(); }, warp,
                         speed * (blocks[slot] % 2 == 1 ? speeds.odd_blocks : 1.0), blocks[slot], slot});
      }
    }
    std::string wrong =
        Warp::run_together(warps, static_cast<unsigned>(dice_()), speeds.events, speeds.pauses);
    if (arrives_late_ || Events::count() != 0) wrong += "copies or messages arrive after the end of a CTA\n";
    if (!AsyncCopies::all_complete()) wrong += "copies are not complete\n";
    if (!Products::all_complete()) wrong += "products are not complete\n";
    if (!NamedBarriers::all_complete()) wrong += "named barriers have wrong arrivals\n";
    if (surplus() != 0) wrong += "barriers have too many arrivals\n";
    Events::clear();
    Products::clear();
    return wrong;
  }

  void run_lane() {
    attention_latent::attention_latent(batch_.parameters());
    if (Warp::lane() == 0) ++ended_warps_[Warp::slot()];
  }

  // Overwrites what all of its readers have released.
  void poison_released(SharedAddress barrier) {
    using namespace attention_latent;
    const Parts::Layout layout{{barrier / kMostSharedBytes * kMostSharedBytes}};
    if (++arrivals_[barrier] % readers_of(layout, barrier) == 0) poison_released(layout, barrier);
  }
  static unsigned readers_of(const attention_latent::SharedLayout& layout, SharedAddress barrier) {
    return kSendsSlots || barrier == layout.q_empty() ? 8 : 4;
  }
  static unsigned readers_of(const attention_latent::E4m3Layout& layout, SharedAddress barrier) {
    return barrier < layout.v_full(0) || barrier >= layout.q_full() ? 8 : 4;
  }
  static void poison_released(const attention_latent::SharedLayout& layout, SharedAddress barrier) {
    using namespace attention_latent;
    if (barrier == layout.q_empty()) return poison(layout.q(), Shape::kQBytes);
    for (int slot = 0; slot < 2; ++slot) {
      const auto release = [&](Part part, int block, int blocks) {
        if (barrier == layout.kv_empty(slot, part))
          poison(layout.kv(slot) + static_cast<unsigned>(block * kKvBlockBytes), blocks * kKvBlockBytes);
      };
      release(Part::first_half, 0, kBlocksOfHalf);
      release(Part::second_half, kBlocksOfHalf, kBlocksOfHalf);
      release(Part::rest, 2 * kBlocksOfHalf, 1);
    }
  }
  static void poison_released(const attention_latent::E4m3Layout& layout, SharedAddress barrier) {
    using namespace attention_latent;
    if (barrier == layout.q_empty()) return poison_operand(layout, E4m3Layout::kQ);
    for (int slot = 0; slot < e4m3_rows::kSlots; ++slot)
      if (barrier == layout.k_empty(slot)) poison_operand(layout, E4m3Layout::operand_of(slot));
    for (int part = 0; part < 4; ++part)
      if (barrier == layout.v_empty(part)) poison(layout.v(part), e4m3_rows::kPartBytes);
  }
  static void poison_operand(const attention_latent::E4m3Layout& layout, int operand) {
    using namespace attention_latent;
    poison(layout.operand(operand), e4m3_rows::kOperandBytes);
    for (int row = 0; row < kSlice; ++row)
      for (int chunk = 0; chunk < e4m3_rows::kRestElements / 16; ++chunk)
        poison(layout.rest(operand) + swizzled<kBlockRowBytes>(row, E4m3Layout::rest_chunk(operand) + chunk),
               16);
  }
  static void poison(SharedAddress first, int bytes) {
    std::fill_n(&shared_memory.at(first), bytes, kPoison);
  }

  static constexpr unsigned kWarps = attention_latent::Shape::kThreads / kLanes;
  static constexpr std::byte kPoison{0xff};  // of NaN
  // If true, a slot is also read by copies to the other CTA, which end before that CTA releases its
  // own slot. Otherwise, the consumers of the CTA are its only readers.
  static constexpr bool kSendsSlots = attention_latent::kClusterSize > 1 && attention_latent::kConvertsKv;

  const LatentBatch& batch_;
  std::mt19937 dice_;
  std::map<SharedAddress, unsigned> arrivals_;  // of readers
  std::array<unsigned, kMostBlocks> ended_warps_ = {};
  bool arrives_late_ = false;
};

}  // namespace cubinet
