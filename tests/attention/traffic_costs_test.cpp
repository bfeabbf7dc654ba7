// SPDX-License-Identifier: Apache-2.0
#include "cost_tables.hpp"

#include <doctest/doctest.h>

namespace cubinet {
namespace {

double estimate(const KernelWork& work) {
  return traffic_terms(builtin_cost_tables().traffic.front().costs, work).sum();
}

KernelWork on_h200(double blocks, double bytes, std::uint32_t splits) {
  KernelWork launch;
  launch.blocks = launch.all_work_items = blocks;
  launch.bytes = bytes;
  launch.largest_block_bytes = bytes / blocks;
  launch.ring_bytes = 96 * 1024;
  launch.blocks_per_multiprocessor = 2;
  launch.multiprocessors = 132;
  launch.splits = splits;
  if (splits > 1) launch.partial_bytes = blocks * 8 * 128 * 4;
  return launch;
}

// Returns the KV bytes of a problem with 64/8 heads of 128: 4096 bytes of K and V per token and
// sequence, all heads.
double kv_bytes(double batch, double tokens) {
  return batch * tokens * 4096;
}

// Measured on an H200, 3 stages of 64 tokens, kernels launched one after the other in a CUDA graph.
TEST_CASE("The model is within a quarter of what was measured") {
  struct Row {
    double blocks;
    double bytes;
    std::uint32_t splits;
    double measured;
  };
  const Row rows[] = {
      {64, kv_bytes(1, 4096), 8, 11.7},    {128, kv_bytes(1, 4096), 16, 11.1},
      {256, kv_bytes(1, 4096), 32, 11.4},  {128, kv_bytes(1, 16384), 16, 22.9},
      {32, kv_bytes(4, 4096), 1, 41.2},    {64, kv_bytes(4, 4096), 2, 26.3},
      {128, kv_bytes(4, 4096), 4, 22.6},   {64, kv_bytes(8, 4096), 1, 42.1},
      {128, kv_bytes(8, 4096), 2, 38.0},   {128, kv_bytes(16, 4096), 1, 64.0},
      {256, kv_bytes(16, 4096), 2, 68.8},  {256, kv_bytes(32, 8192), 1, 239.4},
      {512, kv_bytes(64, 8192), 1, 476.3}, {1024, kv_bytes(64, 8192), 2, 489.0},
  };
  for (const Row& row : rows) {
    const double estimated = estimate(on_h200(row.blocks, row.bytes, row.splits));
    CHECK_MESSAGE(estimated == doctest::Approx(row.measured).epsilon(0.25),
                  row.blocks << " blocks, " << row.splits << " splits");
  }
}

// Measured on the same device with 16 sequences of 4096 tokens. The head dims are 64, 128 and, with
// twice the Q heads, 256. Two stages have 64 KiB or less.
TEST_CASE("Elements of eight bits are split where that was faster, of every length of a row") {
  struct Row {
    std::uint32_t row_bytes;
    double ring_bytes;
    std::uint32_t blocks;
    double measured[2];  // without a split, with two splits
  };
  for (const Row& row : {Row{128, 32 * 1024, 4, {25.1, 23.1}}, Row{256, 64 * 1024, 2, {36.4, 39.1}},
                         Row{512, 64 * 1024, 2, {67.5, 76.3}}}) {
    CAPTURE(row.row_bytes);
    double estimated[2];
    for (const int splits : {1, 2}) {
      KernelWork work =
          on_h200(128.0 * splits, 16 * 4096 * 8.0 * row.row_bytes, static_cast<std::uint32_t>(splits));
      work.element_bits = 8;
      work.row_bytes = row.row_bytes;
      work.ring_bytes = row.ring_bytes;
      work.blocks_per_multiprocessor = row.blocks;
      estimated[splits - 1] = estimate(work);
      CHECK(estimated[splits - 1] == doctest::Approx(row.measured[splits - 1]).epsilon(0.1));
    }
    // A plan splits only if the estimate is at least 2 % lower.
    CHECK((estimated[1] < 0.98 * estimated[0]) == (row.measured[1] < 0.98 * row.measured[0]));
  }
}

// Times of an H200 for tiles and numbers of blocks: KV of e4m3, 8192 tokens, 64 sequences, 8 KV
// heads.
TEST_CASE("What is multiplied from registers has rates of its own, and is faster with more blocks") {
  struct Row {
    std::uint32_t row_bytes;
    std::uint32_t tile_q;
    std::uint32_t fit;
    std::uint32_t blocks;
    double measured;
  };
  for (const Row& row :
       {Row{128, 32, 4, 528, 140.8}, Row{128, 64, 3, 392, 201.5}, Row{128, 64, 3, 264, 230.0},
        Row{128, 48, 3, 392, 172.0}, Row{256, 64, 2, 264, 360.0}, Row{256, 32, 3, 264, 271.0},
        Row{256, 48, 3, 392, 283.2}, Row{256, 48, 3, 264, 302.0}, Row{256, 96, 2, 264, 455.0}}) {
    CAPTURE(row.row_bytes);
    CAPTURE(row.tile_q);
    CAPTURE(row.blocks);
    KernelWork work = on_h200(row.blocks, 64 * 8192 * 8.0 * row.row_bytes, 1);
    work.reader = KvReader::registers;
    work.element_bits = 8;
    work.row_bytes = row.row_bytes;
    work.tile_size_q = row.tile_q;
    work.blocks_per_multiprocessor = row.fit;
    work.ring_bytes = 3.0 * 64 * row.row_bytes;
    work.work_items = 2;
    work.all_work_items = 64.0 * 8 + row.blocks;
    CHECK(estimate(work) == doctest::Approx(row.measured).epsilon(0.12));
  }
}

// Times of an H200 for several tiles and numbers of blocks: KV of e4m3, 16384 tokens, 40 sequences,
// 8 KV heads.
TEST_CASE(
    "Blocks that are not as many for each multiprocessor, and warps that share its quarters, are waited "
    "for") {
  struct Row {
    std::uint32_t row_bytes;
    std::uint32_t tile_q;
    std::uint32_t warps;
    std::uint32_t fit;
    std::uint32_t blocks;
    std::uint32_t work_items;
    double measured;
  };
  for (const Row& row : {Row{128, 16, 4, 4, 320, 1, 182.9}, Row{128, 16, 4, 4, 264, 2, 166.8},
                         Row{128, 16, 2, 8, 320, 1, 227.6}, Row{128, 16, 2, 8, 528, 2, 167.2},
                         Row{128, 32, 4, 2, 264, 2, 208.8}, Row{128, 32, 2, 4, 264, 2, 283.5},
                         Row{128, 32, 2, 4, 320, 1, 326.5}, Row{128, 32, 2, 4, 528, 2, 212.6},
                         Row{256, 16, 2, 4, 320, 1, 329.4}, Row{256, 16, 1, 8, 320, 1, 397.3},
                         Row{256, 16, 2, 4, 264, 2, 319.8}, Row{256, 32, 2, 4, 320, 1, 507.1},
                         Row{256, 32, 2, 4, 528, 2, 343.4}}) {
    CAPTURE(row.row_bytes);
    CAPTURE(row.tile_q);
    CAPTURE(row.warps);
    CAPTURE(row.blocks);
    KernelWork work = on_h200(row.blocks, 40 * 16384 * 8.0 * row.row_bytes, 1);
    work.element_bits = 8;
    work.row_bytes = row.row_bytes;
    work.tile_size_q = row.tile_q;
    work.warps = row.warps;
    work.blocks_per_multiprocessor = row.fit;
    work.ring_bytes = 2.0 * row.warps * 32 * row.row_bytes;
    work.work_items = row.work_items;
    if (row.work_items > 1) work.all_work_items = 40.0 * 8 + row.blocks;
    CHECK(estimate(work) == doctest::Approx(row.measured).epsilon(0.12));
  }
}

TEST_CASE("Few partial results are combined sooner inside than by a second kernel") {
  KernelWork inside = on_h200(256, kv_bytes(16, 4096), 2);
  KernelWork apart = inside;
  inside.combines_apart = false;
  CHECK(estimate(inside) < estimate(apart));
  KernelWork longer = inside;
  longer.splits = 50;
  CHECK(estimate(longer) > estimate(inside));
}

TEST_CASE("Rounds in which one block loads partial results cost time, and a second kernel has none") {
  KernelWork few = on_h200(256, kv_bytes(16, 4096), 50);
  KernelWork many = few;
  many.combine_rounds = 40;
  CHECK(estimate(many) == estimate(few));
  few.combines_apart = many.combines_apart = false;
  CHECK(estimate(many) > estimate(few) + 5);
}

TEST_CASE("A second kernel with many blocks takes longer, the more sequences there are") {
  KernelWork few = on_h200(256, kv_bytes(16, 4096), 8);
  few.combine_blocks = 1056;  // one wave
  KernelWork many = few;
  many.combine_blocks = 8 * 1056;
  const double of_one = estimate(many) - estimate(few);
  CHECK(of_one > 1);
  few.sequences = many.sequences = 200;
  CHECK(estimate(many) - estimate(few) > of_one + 5);
}

TEST_CASE("Empty blocks, more splits and a longer longest block cost time") {
  const KernelWork base = on_h200(128, kv_bytes(1, 4096), 16);
  KernelWork more = base;
  more.empty_blocks = 10000;
  CHECK(estimate(more) > estimate(base));
  more = base;
  more.splits = 64;
  CHECK(estimate(more) > estimate(base));
  more = base;
  more.largest_block_bytes = base.bytes;
  CHECK(estimate(more) > estimate(base));
}

TEST_CASE("A block that ends one tile and begins another takes longer") {
  KernelWork more = on_h200(128, kv_bytes(4, 2048), 16);
  const double of_one = estimate(more);
  more.work_items = 2;
  CHECK(estimate(more) > of_one + 1);
}

TEST_CASE("Every tile that begins and ends on a multiprocessor takes time for each of its warps") {
  KernelWork few = on_h200(1056, kv_bytes(128, 64), 1);
  KernelWork many = few;
  many.all_work_items = 8192;
  const double of_four_warps = estimate(many) - estimate(few);
  few.warps = many.warps = 1;
  const double of_one_warp = estimate(many) - estimate(few);
  CHECK(of_one_warp > 5);
  CHECK(of_four_warps == doctest::Approx(4 * of_one_warp));
}

TEST_CASE("Partial results of wide heads take time to be written and read") {
  const KernelWork few = on_h200(256, kv_bytes(16, 4096), 8);
  KernelWork many = few;
  many.partial_bytes *= 10;
  CHECK(estimate(many) > estimate(few) + 1);
  many.splits = 1;
  many.partial_bytes = few.partial_bytes;
  CHECK(estimate(many) < estimate(few));
}

TEST_CASE("The parts of an estimate add up to it") {
  KernelWork work = on_h200(300, kv_bytes(16, 4096), 8);
  work.blocks_per_multiprocessor = 1;
  work.work_items = 2;
  work.empty_blocks = 10;
  const KernelCost cost = default_cost_model()->cost([&] {
    work.device = {9, 0};
    return work;
  }());
  for (const double term :
       {cost.terms.start, cost.terms.read, cost.terms.items, cost.terms.turnover, cost.terms.combine})
    CHECK(term > 0);
  CHECK(cost.terms.sum() == doctest::Approx(cost.time));
}

TEST_CASE("A launch without any work still has an estimate") {
  CHECK(estimate(KernelWork{}) > 0);
}

TEST_CASE("The estimate grows with grids of any size") {
  const double once = estimate(on_h200(1e6, 1e12, 1));
  for (double factor = 10; factor < 1e25; factor *= 10) {
    const double more = estimate(on_h200(1e6 * factor, 1e12 * factor, 1));
    CHECK(more / once == doctest::Approx(factor).epsilon(0.01));
  }
}

TEST_CASE("A second wave costs its turnover where one block alone fits a multiprocessor") {
  KernelWork one = on_h200(256, kv_bytes(64, 8192), 1);
  KernelWork half = one;
  half.blocks = 128;
  const double with_neighbour = estimate(one) - estimate(half);
  one.blocks_per_multiprocessor = half.blocks_per_multiprocessor = 1;
  CHECK(estimate(one) - estimate(half) > with_neighbour);
  const auto turnover = [](const KernelWork& work) {
    return traffic_terms(builtin_cost_tables().traffic.front().costs, work).turnover;
  };
  CHECK(turnover(one) > 2);
  CHECK(turnover(half) == 0);
}

}  // namespace
}  // namespace cubinet
