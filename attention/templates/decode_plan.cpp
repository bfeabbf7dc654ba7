// SPDX-License-Identifier: Apache-2.0
#include "decode_plan.hpp"

#include <cubinet/kernel_templates/fast_divisor.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

namespace cubinet {
namespace {

using kernel_templates::AttentionDecodeParameters;
using kernel_templates::make_fast_divisor;

constexpr std::uint32_t kWarpRows = 16;
constexpr std::uint32_t kMaximumWarps = 8;  // the template's limit
constexpr std::uint32_t kProductBytes = 2;  // of an element that is multiplied: bf16 or fp16
// Of every block's shared memory the driver keeps this much, and a multiprocessor has just this much more
// than the largest block may use (CUDA Programming Guide, "Technical specifications per compute capability").
constexpr std::uint32_t kReservedSharedBytes = 1024;
// Keeps token positions, rounded up to a tile, within 32 bits on the device.
constexpr std::uint32_t kMaximumKvLength = 1U << 30U;
constexpr std::uint32_t kMaximumGrid = 65535;                                   // in y and z
constexpr std::uint32_t kMostUnits = std::numeric_limits<std::int32_t>::max();  // and blocks, of a KV head

struct Tile {
  DecodeTile shape;
  std::uint32_t shared_bytes = 0;
  std::uint32_t blocks_per_multiprocessor = 1;
};

std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) {
  return a / b + (a % b != 0 ? 1U : 0U);
}

std::uint32_t row_bytes(const AttentionProblem& problem) {
  return (problem.head_dim_qk + problem.head_dim_v) *
         static_cast<std::uint32_t>(bits_of(problem.data_type_k)) / 8;
}

// Tokens that a warp takes at a time.
std::uint32_t slice_of(const AttentionProblem& problem, std::uint32_t tile_q) {
  return (tile_q == 64 || bits_of(problem.data_type_k) == 8) && problem.head_dim_v <= 128 ? 32 : 16;
}

std::uint32_t threads_of(const AttentionProblem& problem, const DecodeTile& tile) {
  return 32 * (tile.q / kWarpRows) * (tile.kv / slice_of(problem, tile.q));
}

// The template's formula; a test holds the two together.
std::uint32_t shared_bytes(const AttentionProblem& problem, const DecodeTile& tile) {
  const std::uint32_t ring = tile.stages * tile.kv * row_bytes(problem);
  const std::uint32_t merge = tile.q * tile.kv / slice_of(problem, tile.q) * (problem.head_dim_v + 10) * 4;
  const std::uint32_t q_scales = bits_of(problem.data_type_k) == 8 ? tile.q * 4 : 0;
  return tile.q * problem.head_dim_qk * kProductBytes + std::max(ring, merge) + q_scales;
}

KernelSpec specification(const AttentionProblem& problem, const DecodeTile& tile) {
  KernelSpec spec = decode_specification(problem);
  spec.set("tile_size_q", tile.q).set("tile_size_kv", tile.kv).set("stages", tile.stages);
  return spec;
}

class DecodePlanner {
 public:
  explicit DecodePlanner(const PlanRequest& request)
      : request_(request),
        problem_(request.problem),
        multiprocessor_bytes_(request.device.shared_limit() + kReservedSharedBytes) {}

  // How the KV of a KV head's tiles is divided.
  struct Splits {
    std::uint32_t count = 1;   // blocks a tile
    std::uint32_t blocks = 1;  // of all tiles
    std::uint32_t unit = 0;    // tokens
    std::uint32_t min_units = 1;
    bool split_is_unit = false;
    std::uint64_t slots = 0;  // of partial results
    KernelCost cost = {std::numeric_limits<double>::infinity(), false};
  };
  struct Choice {
    Tile tile;
    Splits splits;
  };

  // The tile by rule and its best splits, or the fastest of the tiles that are allowed.
  std::optional<Choice> choose(const std::optional<std::vector<DecodeTile>>& tiles) const {
    if (!tiles) {
      const std::optional<Tile> tile = tile_by_rule();
      if (!tile) return std::nullopt;
      return Choice{*tile, splits_of(*tile)};
    }
    std::optional<Choice> best;
    for (const DecodeTile& allowed : *tiles) {
      const std::optional<Tile> tile = measured_tile(allowed);
      if (!tile) continue;
      const Choice choice{*tile, splits_of(*tile)};
      if (request_.options.split_tokens) return choice;
      if (!best || choice.splits.cost.time < best->splits.cost.time) best = choice;
    }
    return best;
  }

 private:
  std::uint32_t widest_head() const { return std::max(problem_.head_dim_qk, problem_.head_dim_v); }

  // What shared memory and registers allow, the kernel's own budget a thread, and what a driver said.
  std::uint32_t resident_blocks(const DecodeTile& tile, std::uint32_t used_bytes) const {
    const std::uint32_t registers = widest_head() <= 64 ? 128 : 255;
    const std::uint32_t by_registers = std::max(65536 / (threads_of(problem_, tile) * registers), 1U);
    const std::uint32_t blocks = std::min(multiprocessor_bytes_ / used_bytes, by_registers);
    if (request_.options.occupancy.empty()) return blocks;
    const auto measured = request_.occupancy_of(specification(problem_, tile));
    return std::max(std::min(blocks, measured.value_or(blocks)), 1U);
  }

  // A tile as it is, if a block of it fits the device.
  std::optional<Tile> measured_tile(const DecodeTile& shape, std::uint32_t blocks = 1) const {
    const std::uint32_t bytes = shared_bytes(problem_, shape);
    const std::uint32_t used = bytes + kReservedSharedBytes;
    if (std::uint64_t{used} * blocks > multiprocessor_bytes_) return std::nullopt;
    return Tile{shape, bytes, resident_blocks(shape, used)};
  }

  // The deepest ring of which two blocks share a multiprocessor, else of which one fits. One block starts and
  // ends beside another's stream, and 64 KiB to 96 KiB under way are what keeps memory busy.
  std::optional<Tile> with_stages(std::uint32_t q, std::uint32_t kv) const {
    for (const std::uint32_t blocks : {2U, 1U}) {
      for (std::uint32_t stages = most_stages(kv); stages >= 2; --stages) {
        if (const auto tile = measured_tile({q, kv, stages}, blocks)) return tile;
      }
    }
    return std::nullopt;
  }

  // Of elements of eight bits more than 64 KiB under way are a little slower, unless fewer would let a third
  // block in.
  std::uint32_t most_stages(std::uint32_t kv) const {
    constexpr std::uint32_t most = 6;
    if (bits_of(problem_.data_type_k) > 8 || widest_head() <= 64) return most;
    return std::clamp(64 * 1024 / (kv * row_bytes(problem_)), 2U, most);
  }

  std::optional<Tile> tile_by_rule() const {
    const std::uint32_t rows = problem_.group_size() * std::min(problem_.q_len, 64U);
    // Steps of 32 KiB: 128 tokens of head dim 64, 64 of 128, 32 of 256, of 16 bits each.
    std::uint32_t preferred = 128;
    while (preferred > 16 && preferred * row_bytes(problem_) > 32 * 1024)
      preferred /= 2;
    for (std::uint32_t q = rows <= 16 ? 16 : rows <= 32 ? 32 : 64; q >= 16; q /= 2) {
      const std::uint32_t slice = slice_of(problem_, q);
      // Where eight warps that take twice the tokens have the registers of a multiprocessor to themselves,
      // two blocks of four, which do not wait for each other, are faster.
      const std::uint32_t warps = slice == 32 && widest_head() > 64 ? 4 : kMaximumWarps;
      for (std::uint32_t kv = std::min(preferred, warps * kWarpRows / q * slice); kv >= slice; kv /= 2) {
        if (const auto tile = with_stages(q, kv)) return tile;
      }
    }
    return std::nullopt;
  }

  // Tokens that the queries of a sequence of this length read.
  std::uint32_t readable_tokens(const Tile& tile, std::uint32_t length) const {
    if (!problem_.is_windowed()) return length;
    const std::uint64_t window =
        std::uint64_t{problem_.window} + problem_.q_len - 1 + (slice_of(problem_, tile.shape.q) - 1);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(length, window));
  }

  // Tokens of the longest sequence that its queries read, at least 1.
  std::uint32_t longest_reach(const Tile& tile) const {
    std::uint32_t longest = problem_.kv_len;
    if (!problem_.kv_lengths.empty()) {
      longest = static_cast<std::uint32_t>(
          *std::max_element(problem_.kv_lengths.begin(), problem_.kv_lengths.end()));
    }
    return std::max(readable_tokens(tile, longest), 1U);
  }

  Splits splits_of(const Tile& tile) const {
    if (request_.options.split_tokens) return fixed_splits(tile, *request_.options.split_tokens);
    return request_.options.splits ? forced_splits(tile, *request_.options.splits) : best_splits(tile);
  }

  // As many as the caller wants: sequences that are too short for all of them leave some blocks without work.
  Splits forced_splits(const Tile& tile, std::uint32_t splits) const {
    const std::uint64_t grid = kMostUnits / problem_.heads_kv;
    return evaluate(tile, splits, std::min(tiles(tile) * splits, grid), 1);
  }

  // Each of the same tokens of its sequence, whatever the batch: a block computes one after the other.
  Splits fixed_splits(const Tile& tile, std::uint32_t tokens) const {
    Splits fixed;
    fixed.unit = tokens;
    fixed.split_is_unit = true;
    fixed.count = divide_up(std::max(readable_tokens(tile, problem_.kv_len), 1U), tokens);
    fixed.slots = tiles(tile) * fixed.count;
    fixed.blocks = static_cast<std::uint32_t>(std::min(fixed.slots, most_blocks(tile)));
    fixed.cost = cost(tile, fixed);
    return fixed;
  }

  Splits best_splits(const Tile& tile) const {
    const std::uint64_t all = tiles(tile);
    const std::uint64_t limit = most_blocks(tile);
    // Several whole tiles a block, where there are many.
    const std::uint64_t tiles_a_block = all / limit + (all % limit != 0 ? 1 : 0);
    // A split of less than two steps costs more in the reduction than its shorter loop saves.
    constexpr std::uint32_t least = 2;
    Splits best = evaluate(tile, 1, all / tiles_a_block + (all % tiles_a_block != 0 ? 1 : 0), least);
    const std::uint32_t longest = longest_reach(tile);
    const std::uint32_t most = std::clamp(longest / (least * tile.shape.kv), 1U, kMaximumDecodeSplits);
    for (std::uint32_t wanted = 2; wanted <= most && all * wanted <= limit; ++wanted) {
      const std::uint32_t units = divide_up(longest, best.unit);
      const bool as_fewer = divide_up(units, divide_up(units, wanted)) != wanted;
      if (problem_.kv_lengths.empty() && as_fewer) continue;
      const Splits candidate = evaluate(tile, wanted, all * wanted, least);
      // A second kernel, and what lengths that are not alike cost more blocks, is for a gain that can be
      // felt.
      if (candidate.cost.time < (best.count == 1 ? 0.98 : 1) * best.cost.time) best = candidate;
    }
    return best;
  }

  // Of one KV head.
  std::uint64_t tiles(const Tile& tile) const {
    return std::uint64_t{problem_.batch} * divide_up(problem_.group_size() * problem_.q_len, tile.shape.q);
  }

  // For one KV head. What is left of lengths that are not alike is little beside a quarter of a block's work,
  // and partial results of more blocks would be a larger workspace.
  std::uint64_t most_blocks(const Tile& tile) const {
    constexpr std::uint64_t waves = 4;
    const std::uint64_t slots =
        waves * request_.device.sm_count * std::uint64_t{tile.blocks_per_multiprocessor};
    return std::max<std::uint64_t>(slots / problem_.heads_kv, 1);
  }

  Splits evaluate(const Tile& tile, std::uint32_t count, std::uint64_t blocks,
                  std::uint32_t min_units) const {
    Splits splits;
    splits.count = count;
    splits.blocks = static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks, kMostUnits));
    splits.min_units = min_units;
    splits.unit = tile.shape.kv;
    // As coarse as the kernel, which counts the units of all tiles in 31 bits, needs it.
    const auto units = [&] {
      return static_cast<double>(tiles(tile)) *
                 std::max(divide_up(readable_tokens(tile, problem_.kv_len), splits.unit), 1U) +
             splits.blocks;
    };
    while (units() > kMostUnits && splits.unit < kMaximumKvLength)
      splits.unit *= 2;
    const bool one_unit = readable_tokens(tile, problem_.kv_len) <= splits.unit;
    const bool one_sequence = problem_.batch == 1 && !problem_.ragged_q && splits.blocks == tiles(tile);
    splits.slots = one_unit || one_sequence ? 0 : std::uint64_t{2} * splits.blocks;
    splits.cost = cost(tile, splits);
    return splits;
  }

  KernelCost cost(const Tile& tile, const Splits& splits) const {
    const std::uint32_t q_tiles = divide_up(problem_.group_size() * problem_.q_len, tile.shape.q);
    // What is multiplied by it is a double: sizes that are allowed pass 2^63 together.
    const double columns = static_cast<double>(problem_.heads_kv) * q_tiles;
    double units = 0;  // of one tile of each sequence
    double tokens = 0;
    const auto add = [&](std::uint32_t length, std::uint32_t sequences) {
      const std::uint32_t readable = readable_tokens(tile, length);
      units += static_cast<double>(sequences) * std::max(divide_up(readable, splits.unit), 1U);
      tokens += static_cast<double>(sequences) * readable;
    };
    if (problem_.kv_lengths.empty()) add(problem_.kv_len, problem_.batch);
    for (const std::int32_t length : problem_.kv_lengths)
      add(static_cast<std::uint32_t>(length), 1);

    const double all_units = units * q_tiles;
    const double share =
        std::max(std::ceil(all_units / splits.blocks), static_cast<double>(splits.min_units));
    const double working = std::ceil(all_units / share);
    const double longest = std::min(share * splits.unit, tokens * q_tiles);
    const double of_longest = std::ceil(divide_up(longest_reach(tile), splits.unit) / share);
    const double bytes_of_row = row_bytes(problem_);
    KernelWork work;
    work.implementation = "attention_decode";
    work.device = request_.device.capability;
    work.multiprocessors = request_.device.sm_count;
    work.blocks_per_multiprocessor = tile.blocks_per_multiprocessor;
    work.tile_size_q = tile.shape.q;
    work.element_bits = static_cast<std::uint32_t>(bits_of(problem_.data_type_k));
    work.splits = static_cast<std::uint32_t>(
        splits.split_is_unit ? splits.count : std::min<double>(of_longest, splits.blocks));
    work.longest_tokens = static_cast<std::uint64_t>(longest);
    work.blocks = working * problem_.heads_kv;
    work.empty_blocks = (splits.blocks - working) * problem_.heads_kv;
    work.bytes = tokens * columns * bytes_of_row;
    work.largest_block_bytes = longest * bytes_of_row;
    work.ring_bytes = static_cast<double>(tile.shape.stages) * tile.shape.kv * bytes_of_row;
    return request_.costs().cost(work);
  }

  const PlanRequest& request_;
  const AttentionProblem& problem_;
  std::uint32_t multiprocessor_bytes_;
};

struct KvStrides {
  long long page = 0;
  long long token = 0;
  long long head = 0;
};

KvStrides kv_strides(const AttentionProblem& problem, long long head_dim) {
  const long long tokens = problem.tokens_per_page;
  const long long heads = problem.heads_kv;
  if (problem.kv_order == KvOrder::nhd) return {tokens * heads * head_dim, heads * head_dim, head_dim};
  return {tokens * heads * head_dim, head_dim, tokens * head_dim};
}

Result<AttentionDecodeParameters> parameters_for(const AttentionProblem& problem, const DecodeTile& tile,
                                                 const DecodePlanner::Splits& splits) {
  const std::uint32_t rows = problem.group_size() * problem.q_len;
  AttentionDecodeParameters p{};
  p.q_head_stride = problem.head_dim_qk;
  p.q_token_stride = p.q_head_stride * problem.heads_q;
  p.q_batch_stride = p.q_token_stride * problem.q_len;
  p.o_head_stride = problem.head_dim_v;
  p.o_token_stride = p.o_head_stride * problem.heads_q;
  p.o_batch_stride = p.o_token_stride * problem.q_len;
  const KvStrides k = kv_strides(problem, problem.head_dim_qk);
  const KvStrides v = kv_strides(problem, problem.head_dim_v);
  p.k_page_stride = k.page;
  p.k_token_stride = k.token;
  p.k_head_stride = k.head;
  p.v_page_stride = v.page;
  p.v_token_stride = v.token;
  p.v_head_stride = v.head;
  const std::uint32_t pages = problem.pages_per_sequence();
  p.page_table_stride = problem.separate_page_tables ? 2LL * pages : pages;
  p.v_page_table_offset = problem.separate_page_tables ? static_cast<int>(pages) : 0;
  p.batch = static_cast<int>(problem.batch);
  p.q_len = static_cast<int>(problem.q_len);
  p.q_tiles = static_cast<int>(divide_up(rows, tile.q));
  p.heads_q = static_cast<int>(problem.heads_q);
  p.partial_rows = static_cast<int>(std::min(rows, tile.q));
  p.min_units = static_cast<int>(splits.min_units);
  p.split_is_unit = splits.split_is_unit ? 1 : 0;
  p.window = static_cast<int>(problem.window);
  p.mask_words = static_cast<int>(problem.mask_words());
  p.soft_cap = static_cast<float>(problem.soft_cap.value_or(0));
  p.max_kv_length = static_cast<int>(problem.kv_len);
  p.softmax_scale_log2 = static_cast<float>(problem.scale() * std::numbers::log2e);
  p.output_scale = static_cast<float>(problem.output_scale);
  CUBINET_TRY_ASSIGN(p.heads_kv, make_fast_divisor(problem.heads_kv));
  CUBINET_TRY_ASSIGN(p.group, make_fast_divisor(problem.group_size()));
  CUBINET_TRY_ASSIGN(p.unit, make_fast_divisor(splits.unit));
  CUBINET_TRY_ASSIGN(p.blocks, make_fast_divisor(splits.blocks));
  return p;
}

Result<void> check_limits(const PlanRequest& request) {
  const AttentionProblem& problem = request.problem;
  const auto splits = request.options.splits;
  if (splits && (*splits < 1 || *splits > kMaximumDecodeSplits)) {
    return Error{ErrorCode::invalid_argument, "the number of KV splits is " + std::to_string(*splits) +
                                                  ", but must be 1 to " +
                                                  std::to_string(kMaximumDecodeSplits)};
  }
  const auto tokens = request.options.split_tokens;
  if (tokens && (*tokens == 0 || *tokens % kSplitTokensMultiple != 0 || *tokens > kMaximumKvLength)) {
    return Error{ErrorCode::invalid_argument,
                 "a KV split has " + std::to_string(*tokens) + " tokens, but must have a multiple of " +
                     std::to_string(kSplitTokensMultiple) + " up to " + std::to_string(kMaximumKvLength)};
  }
  if (splits && tokens) {
    return Error{ErrorCode::invalid_argument, "both the number of KV splits and their tokens are given",
                 "give one of them"};
  }
  if (problem.kv_len > kMaximumKvLength) {
    return Error{ErrorCode::invalid_argument, "kv_len is " + std::to_string(problem.kv_len) +
                                                  ", but must be at most " +
                                                  std::to_string(kMaximumKvLength)};
  }
  // Rows of a KV head's tiles are counted in 32 bits.
  if (std::uint64_t{problem.q_len} * problem.heads_q > std::numeric_limits<std::int32_t>::max()) {
    return Error{ErrorCode::invalid_argument,
                 "q_len " + std::to_string(problem.q_len) + " makes a grid beyond CUDA's limit"};
  }
  return {};
}

// Partial rows of fp32, those of a tile in each slot of a KV head, their log-sum-exps behind them, and where
// no second kernel reduces them a counter a tile.
Result<WorkspaceSizes> workspace_for(const AttentionProblem& problem, const DecodeTile& tile,
                                     const DecodePlanner::Splits& splits) {
  WorkspaceSizes sizes;
  if (splits.slots == 0) return sizes;
  const std::uint64_t tile_rows = std::min(problem.group_size() * problem.q_len, tile.q);
  const std::uint64_t rows = splits.slots * problem.heads_kv * tile_rows;
  const double floats = static_cast<double>(splits.slots) * problem.heads_kv *
                        static_cast<double>(tile_rows) * (problem.head_dim_v + 1.0);
  if (floats * sizeof(float) > 0x1p62) {
    return Error{ErrorCode::invalid_argument,
                 "the workspace of batch " + std::to_string(problem.batch) + ", q_len " +
                     std::to_string(problem.q_len) + ", heads_q " + std::to_string(problem.heads_q) +
                     ", head_dim_v " + std::to_string(problem.head_dim_v) + " and " +
                     std::to_string(splits.count) + " KV splits passes 2^62 bytes; ask for fewer splits"};
  }
  const auto aligned = [](std::uint64_t bytes) {
    return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
  };
  const std::uint64_t q_tiles = divide_up(problem.group_size() * problem.q_len, tile.q);
  if (splits.count == 1)
    sizes.counter_bytes = aligned(problem.batch * q_tiles * problem.heads_kv * sizeof(std::int32_t));
  sizes.partial_output_bytes = aligned(rows * problem.head_dim_v * sizeof(float));
  sizes.partial_stats_offset = sizes.partial_output_bytes;
  sizes.partial_stats_bytes = rows * sizeof(float);
  sizes.scratch_bytes = sizes.partial_stats_offset + sizes.partial_stats_bytes;
  return sizes;
}

}  // namespace

KernelSpec decode_specification(const AttentionProblem& problem) {
  KernelSpec spec{"attention_decode", {}};
  const auto type = [](DataType value) { return ParameterValue(std::string(to_string(value))); };
  // One query token sees the same under both masks: one kernel serves.
  const bool dense = problem.mask == AttentionMask::dense && problem.q_len > 1;
  const bool custom = problem.mask == AttentionMask::custom;
  spec.set("dtype_q", type(problem.data_type_q))
      .set("dtype_kv", type(problem.data_type_k))
      .set("dtype_o", type(problem.data_type_o))
      .set("head_dim_qk", problem.head_dim_qk)
      .set("head_dim_v", problem.head_dim_v)
      .set("page_size", problem.tokens_per_page)
      .set("mask", dense    ? "dense"
                   : custom ? "custom"
                            : "causal")
      .set("sliding_window", ParameterValue(custom || problem.is_sliding()))
      .set("soft_cap", ParameterValue(problem.soft_cap.has_value()))
      .set("separate_page_tables", ParameterValue(problem.separate_page_tables));
  return spec;
}

Result<DecodePlan> plan_decode(const PlanRequest& request,
                               const std::optional<std::vector<DecodeTile>>& tiles) {
  CUBINET_TRY(check_limits(request));
  const AttentionProblem& problem = request.problem;
  const auto choice = DecodePlanner(request).choose(tiles);
  if (!choice) {
    return Error{ErrorCode::unsupported, "no tile " + std::string(tiles ? "that is allowed " : "") +
                                             "of head dims " + std::to_string(problem.head_dim_qk) + " and " +
                                             std::to_string(problem.head_dim_v) + " fits the " +
                                             std::to_string(request.device.shared_limit()) +
                                             " bytes of shared memory that a block may use on the device"};
  }
  const Tile& tile = choice->tile;
  const DecodePlanner::Splits& splits = choice->splits;
  DecodePlan plan;
  plan.spec = specification(problem, tile.shape);
  plan.tile = tile.shape;
  plan.splits = splits.count;
  plan.q_tiles = divide_up(problem.group_size() * problem.q_len, tile.shape.q);
  CUBINET_TRY_ASSIGN(plan.workspace, workspace_for(problem, tile.shape, splits));
  const double most_units =
      static_cast<double>(problem.batch) * plan.q_tiles * divide_up(problem.kv_len, splits.unit);
  if (std::uint64_t{splits.blocks} * problem.heads_kv > kMostUnits ||
      most_units + splits.blocks > kMostUnits) {
    return Error{ErrorCode::invalid_argument,
                 "batch " + std::to_string(problem.batch) + ", q_len " + std::to_string(problem.q_len) +
                     " and kv_len " + std::to_string(problem.kv_len) + " in " + std::to_string(splits.count) +
                     " KV splits are more than a grid holds"};
  }
  plan.grid = {splits.blocks * problem.heads_kv, 1, 1};
  plan.reduce_grid = {problem.heads_q, problem.q_len, problem.batch};
  if (plan.reduces_apart() && problem.q_len > kMaximumGrid) {
    return Error{ErrorCode::invalid_argument,
                 "q_len " + std::to_string(problem.q_len) + " makes a grid beyond CUDA's limit"};
  }
  CUBINET_TRY_ASSIGN(plan.parameters, parameters_for(problem, tile.shape, splits));
  plan.shared_bytes = tile.shared_bytes;
  plan.blocks_per_multiprocessor = tile.blocks_per_multiprocessor;
  plan.cost = choice->splits.cost;
  return plan;
}

}  // namespace cubinet
