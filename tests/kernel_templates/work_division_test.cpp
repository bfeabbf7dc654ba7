// SPDX-License-Identifier: Apache-2.0
// Runs the division of work of decode attention on the host. lanes/ has the lanes of a warp and
// replaces the headers of the device library that have instructions.
#include "lanes/fields.hpp"

#include <cubinet/attention/work_division.cuh>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <tuple>
#include <vector>

using namespace cubinet;
using attention::WorkItem;
using kernel_templates::AttentionDecodeParameters;

namespace {

template <int kCluster>
struct Shape {
  static constexpr int kTileQ = 16;
  static constexpr int kClusterSize = kCluster;
  static constexpr int kPageSize = 16;
  static constexpr int kSlice = 16;
  static constexpr bool kCausal = true;
  static constexpr bool kCustomMask = false;
  static constexpr bool kSlidingWindow = false;
  static constexpr bool kSeparatePageTables = false;
  static constexpr bool kInvariant = false;
};

struct DecodeBatch {
  std::vector<std::int32_t> kv_lengths;
  std::vector<std::int32_t> q_lengths = {};  // empty: q_len each
  int q_len = 1;
  int group = 8;
  int blocks = 7;
  int unit = 64;
};

struct Part {
  int sequence;
  int q_tile;
  int tile_begin;
  int tile_end;
  int begin;
  int end;

  friend bool operator==(const Part&, const Part&) = default;
};

Part part_of(const WorkItem& item) {
  return {item.sequence.index, item.q_tile, item.tile_begin, item.tile_end, item.begin, item.end};
}

int query_tokens_of(const DecodeBatch& batch, std::size_t sequence) {
  return batch.q_lengths.empty() ? batch.q_len : batch.q_lengths[sequence];
}

// Returns the items of a CTA: each looked for from the first sequence on, or from that of the item
// before.
template <int kCluster>
std::vector<Part> parts_of(const AttentionDecodeParameters& p, int block, bool from_previous) {
  using Division = attention::WorkDivisionOf<Shape<kCluster>>;
  std::vector<Part> parts;
  Warp::run([&] {
    const Division division(p, block);
    if (division.begin() >= division.end()) return;
    WorkItem item = division.item(p, division.begin());
    for (;;) {
      if (threadIdx.x == 0) parts.push_back(part_of(item));
      if (item.end >= division.end()) return;
      item = from_previous ? division.next(p, item) : division.item(p, item.end);
    }
  });
  return parts;
}

// Checks that the items of all CTAs are the units of all tiles in their order, each once.
template <int kCluster = 1>
void check_division(const DecodeBatch& batch) {
  CAPTURE(batch.kv_lengths.size());
  std::vector<std::int32_t> offsets(batch.q_lengths.size() + 1);
  std::partial_sum(batch.q_lengths.begin(), batch.q_lengths.end(), offsets.begin() + 1);
  AttentionDecodeParameters p{};
  p.batch = static_cast<int>(batch.kv_lengths.size());
  p.q_len = batch.q_len;
  p.max_kv_length = *std::max_element(batch.kv_lengths.begin(), batch.kv_lengths.end());
  p.kv_lengths = address_of(batch.kv_lengths);
  p.q_offsets = batch.q_lengths.empty() ? 0 : address_of(offsets);
  p.group = divisor(batch.group);
  p.blocks = divisor(batch.blocks * kCluster);
  p.unit = divisor(batch.unit);
  p.min_units = 1;

  std::vector<Part> tiles;  // whole
  int units = 0;
  for (std::size_t i = 0; i < batch.kv_lengths.size(); ++i) {
    const int rows = batch.group * query_tokens_of(batch, i);
    const int of_tile = std::max((batch.kv_lengths[i] + batch.unit - 1) / batch.unit, 1);
    for (int first = 0; first < rows; first += 16 * kCluster) {
      tiles.push_back({static_cast<int>(i), first / 16, units, units + of_tile, units, units + of_tile});
      units += of_tile;
    }
  }
  int unit = 0;
  auto tile = tiles.begin();
  for (int block = 0; block < batch.blocks; ++block) {
    const std::vector<Part> parts = parts_of<kCluster>(p, block * kCluster, true);
    CHECK(parts == parts_of<kCluster>(p, block * kCluster, false));
    for (const Part& part : parts) {
      while (tile != tiles.end() && tile->tile_end <= unit)
        ++tile;
      REQUIRE(tile != tiles.end());
      CHECK(part.sequence == tile->sequence);
      CHECK(part.q_tile == tile->q_tile);
      CHECK(part.tile_begin == tile->tile_begin);
      CHECK(part.tile_end == tile->tile_end);
      CHECK(part.begin == unit);
      CHECK(part.end > unit);
      CHECK(part.end <= tile->tile_end);
      unit = part.end;
    }
  }
  CHECK(unit == units);
}

}  // namespace

TEST_CASE("the work of batches of every size around a warp and its loads is divided without a gap") {
  for (const std::size_t batch : {1U, 2U, 31U, 32U, 33U, 63U, 64U, 65U, 127U, 128U, 129U, 255U, 257U, 300U}) {
    DecodeBatch even;
    even.kv_lengths.assign(batch, 300);
    check_division(even);
    DecodeBatch uneven;
    for (std::size_t i = 0; i < batch; ++i)
      uneven.kv_lengths.push_back(static_cast<std::int32_t>(i * 37 % 500));
    uneven.q_len = 5;
    uneven.blocks = 40;
    check_division(uneven);
    check_division<2>(uneven);
  }
}

TEST_CASE("the work of sequences without query tokens and of random lengths is divided without a gap") {
  std::mt19937 dice(36);
  const auto below = [&](int end) { return std::uniform_int_distribution<int>(0, end - 1)(dice); };
  for (int i = 0; i < 20; ++i) {
    DecodeBatch batch;
    batch.q_len = 6;
    batch.blocks = 1 + below(90);
    batch.unit = 16 << below(4);
    const int sequences = 1 + below(700);
    for (int sequence = 0; sequence < sequences; ++sequence) {
      batch.q_lengths.push_back(below(batch.q_len + 1));
      batch.kv_lengths.push_back(batch.q_lengths.back() + (below(20) == 0 ? below(5000) : below(200)));
    }
    batch.q_lengths.front() = 1;
    batch.kv_lengths.front() = 9;
    check_division(batch);
    check_division<2>(batch);
  }
}
