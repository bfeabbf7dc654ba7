// SPDX-License-Identifier: Apache-2.0
#include "table_rows.hpp"

#include <cubinet/base/bytes.hpp>

#include <algorithm>
#include <array>
#include <string>

namespace cubinet::bench {
namespace {

struct Tile {
  KernelType type;
  std::uint16_t size_q;
};
constexpr std::array<Tile, 6> kTiles = {{{KernelType::swaps_mma_ab, 8},
                                         {KernelType::swaps_mma_ab, 16},
                                         {KernelType::swaps_mma_ab, 32},
                                         {KernelType::keeps_mma_ab, 64},
                                         {KernelType::keeps_mma_ab, 128},
                                         {KernelType::context, 128}}};
struct Mode {
  MultiCtasKvMode kv;
  TileScheduler scheduler;
};
constexpr std::array<Mode, 4> kModes = {{{MultiCtasKvMode::gmem, TileScheduler::static_grid},
                                         {MultiCtasKvMode::cga, TileScheduler::static_grid},
                                         {MultiCtasKvMode::disabled, TileScheduler::persistent},
                                         {MultiCtasKvMode::gmem_separate, TileScheduler::static_grid}}};
constexpr std::array<DataType, 6> kRowTypes = {DataType::bf16, DataType::e4m3, DataType::fp16,
                                               DataType::e2m1, DataType::e5m2, DataType::int8};
constexpr std::array<std::uint32_t, 4> kPages = {64, 32, 16, 128};
constexpr std::array<AttentionMask, 3> kMasks = {
    AttentionMask::causal, AttentionMask::sliding_or_chunked_causal, AttentionMask::custom};
constexpr std::array<std::uint16_t, 8> kHeadDims = {128, 64, 256, 192, 96, 80, 72, 512};

KernelRow row_of(const KernelSelector& selector, SmTarget target) {
  KernelRow row;
  row.selector = selector;
  row.traits.step_q = selector.kernel_type == KernelType::context ? 256U : selector.tile_size_q;
  row.traits.step_kv = 256;
  row.implementation = "trtllm-gen";
  row.target = target;
  row.shared_bytes = 150'000;
  row.threads = 512;
  return row;
}

// The innermost loops vary the columns that one problem may try, so the first hundred rows serve
// one problem well.
template <class Add>
void for_each_selector(Add add) {
  KernelSelector s;
  for (const bool skips : {false, true}) {
    for (const DataType o : kRowTypes) {
      for (const DataType q : kRowTypes) {
        for (const std::uint16_t dim : kHeadDims) {
          for (const std::uint32_t page : kPages) {
            for (const AttentionMask mask : kMasks) {
              for (const bool groups : {true, false}) {
                for (const Tile tile : kTiles) {
                  for (const Mode mode : kModes) {
                    s.skips_softmax = skips;
                    s.data_type_o = o;
                    s.data_type_q = s.data_type_k = s.data_type_v = q;
                    s.head_dim_qk = s.head_dim_v = s.head_dim_per_cta_v = dim;
                    s.tokens_per_page = page;
                    s.mask = mask;
                    s.groups_tokens_heads_q = groups;
                    s.kernel_type = tile.type;
                    s.tile_size_q = tile.size_q;
                    s.multi_ctas_kv_mode = mode.kv;
                    s.scheduler = mode.scheduler;
                    if (!add(s)) return;
                  }
                }
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace

std::vector<KernelRow> table_rows(std::size_t count) {
  std::vector<KernelRow> rows;
  rows.reserve(count);
  std::size_t number = 0;
  const auto add = [&](const KernelSelector& selector, SmTarget target) {
    if (rows.size() == count) return;
    KernelRow& row = rows.emplace_back(row_of(selector, target));
    row.function_name =
        "fmhaSm" + std::to_string(target.major) + std::to_string(target.minor) + "fKernel_Qkv" +
        std::string(to_string(selector.data_type_q)) + "O" + std::string(to_string(selector.data_type_o)) +
        "H" + std::to_string(selector.head_dim_qk) + "PagedKv" + std::string(to_string(selector.mask)) + "P" +
        std::to_string(selector.tokens_per_page) + "VarSeqQ" + std::to_string(selector.tile_size_q) +
        "Kv128N" + std::to_string(number);
    row.digest = sha256(as_bytes(row.function_name));
  };
  for_each_selector([&](const KernelSelector& selector) {
    add(selector, {10, 0, TargetKind::family});
    if (++number % 10 == 0) add(selector, {10, 3, TargetKind::specific});
    return rows.size() < count;
  });
  return rows;
}

AttentionProblem decode_problem(std::uint32_t batch, std::uint32_t kv_len) {
  AttentionProblem problem;
  problem.batch = batch;
  problem.kv_len = kv_len;
  problem.heads_q = 64;
  problem.heads_kv = 8;
  return problem;
}

}  // namespace cubinet::bench
