// SPDX-License-Identifier: Apache-2.0
// The template `attention_decode_wgmma`: tiles of 64 rows on Hopper.
#include "decode_family.hpp"

#include <algorithm>

namespace cubinet {
namespace {

constexpr ComputeCapability kWgmmaDevice{9, 0};
constexpr std::uint32_t kWgmmaRows = 64;
constexpr std::uint32_t kWgmmaSlice = 64;  // tokens of a step
constexpr std::uint32_t kMostWgmmaStages = 6;
constexpr std::uint32_t kKeptOfWgmma = 64;         // bytes of the division of work
constexpr std::uint32_t kMostConvertedStages = 3;  // four are 1 % slower: what is converted is bound by that

std::string gap_of_wgmma(const AttentionProblem& problem, ComputeCapability device) {
  if (device != kWgmmaDevice)
    return "attention_decode_wgmma has instructions of devices of " + kWgmmaDevice.to_string() + " alone";
  const std::uint64_t rows = rows_of_kv_head(problem);
  if (rows > kWgmmaRows / 2) return "";
  return "attention_decode_wgmma has tiles of " + std::to_string(kWgmmaRows) + " rows, of which " +
         std::to_string(rows) + " would be used";
}

bool wgmma_preferred(const AttentionProblem& problem, ComputeCapability device) {
  return gap_of_wgmma(problem, device).empty() && problem.head_dim_v <= 256;
}

// Whether two warpgroups of a block take the slices in turns: where what is converted is bound by a
// warpgroup's waits, and the kernel's loop fits into half of the registers.
bool shares_block(const AttentionProblem& problem) {
  return converts_kv(problem) && problem.head_dim_qk == 64 && problem.head_dim_v == 64 &&
         problem.tokens_per_page >= kWgmmaSlice && !problem.is_sliding() &&
         problem.mask != AttentionMask::custom && !problem.soft_cap && !problem.separate_page_tables &&
         problem.data_type_o != DataType::fp32;
}

DecodeBlock block_of_wgmma(const AttentionProblem& problem, const DecodeTile& tile) {
  const bool converts = converts_kv(problem);
  const std::uint32_t columns = problem.head_dim_qk + problem.head_dim_v;
  const std::uint32_t converted = converts ? columns * kProductBytes : 0;
  const std::uint32_t widest = std::max(problem.head_dim_qk, problem.head_dim_v);
  const bool shares = shares_block(problem);
  const std::uint32_t warpgroups = shares ? 2 : 1;
  const std::uint32_t work = tile.kv * (tile.stages * kv_row_bytes(problem) + converted);
  const std::uint32_t merge = tile.q * (problem.head_dim_v + 10) * 4;
  const std::uint32_t q_scales = converts ? tile.q * 4 : 0;
  DecodeBlock block;
  block.slice = tile.kv;
  block.threads = 128 * warpgroups;
  block.shared_bytes = tile.q * problem.head_dim_qk * kProductBytes + warpgroups * std::max(work, merge) +
                       q_scales + (shares ? kKeptOfWgmma : 0);
  block.registers = shares ? 128 : widest > 64 ? 255 : 168;
  return block;
}

// The deepest ring of which two blocks share a multiprocessor, else of which one fits.
std::vector<DecodeTileWish> tiles_of_wgmma(const AttentionProblem& problem) {
  std::vector<DecodeTileWish> wishes;
  for (const std::uint32_t blocks : {2U, 1U}) {
    for (std::uint32_t stages = converts_kv(problem) ? kMostConvertedStages : kMostWgmmaStages; stages >= 2;
         --stages)
      wishes.emplace_back(DecodeTile{kWgmmaRows, kWgmmaSlice, stages}, blocks);
  }
  return wishes;
}

}  // namespace

const DecodeFamily kAttentionDecodeWgmma = {
    "attention_decode_wgmma", gap_of_wgmma,
    wgmma_preferred,          "on an H200 0.86 of attention_decode's time with bf16, 0.7 with e4m3",
    tiles_of_wgmma,           block_of_wgmma,
};

}  // namespace cubinet
