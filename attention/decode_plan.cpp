// SPDX-License-Identifier: Apache-2.0
#include "decode_cost.hpp"

#include <cubinet/attention/decode_plan.hpp>
#include <cubinet/kernel_templates/fast_divisor.hpp>

#include <algorithm>
#include <limits>
#include <numbers>
#include <optional>
#include <string>

namespace cubinet {
namespace {

using kernel_templates::AttentionDecodeParameters;
using kernel_templates::make_fast_divisor;

constexpr int kSlice = 16;              // tokens that a warp takes at a time
constexpr int kMaximumTileArea = 2048;  // the template's limit: 8 warps of 16 rows and 16 tokens
constexpr int kElementBytes = 2;        // bf16 and fp16
constexpr std::uint64_t kAlignment = 256;
// Of every block's shared memory the driver keeps this much, and a multiprocessor has just this much more
// than the largest block may use (CUDA Programming Guide, "Technical specifications per compute capability").
constexpr std::uint32_t kReservedSharedBytes = 1024;

struct Tile {
  int q = 16;
  int kv = 64;
  int stages = 2;
  std::uint32_t shared_bytes = 0;
  int blocks_per_multiprocessor = 1;
};

int divide_up(int a, int b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

int row_bytes(const DecodeProblem& problem) {
  return (problem.head_dim_qk + problem.head_dim_v) * kElementBytes;
}

// The template's formula; a test holds the two together.
std::uint32_t shared_bytes(const DecodeProblem& problem, const Tile& tile) {
  const int ring = tile.stages * tile.kv * row_bytes(problem);
  const int merge = tile.q * tile.kv / kSlice * (problem.head_dim_v + 10) * 4;
  return static_cast<std::uint32_t>(tile.q * problem.head_dim_qk * kElementBytes + std::max(ring, merge));
}

// What the registers allow: the kernel's own budget a thread.
int blocks_by_registers(const DecodeProblem& problem, const Tile& tile) {
  const int widest = std::max(problem.head_dim_qk, problem.head_dim_v);
  const int registers = widest <= 64 ? 128 : 255;
  return std::max(65536 / (tile.q * tile.kv / 8 * registers), 1);
}

// The deepest ring of which two blocks share a multiprocessor, else of which one fits. One block starts and
// ends beside another's stream, and 64 KiB to 96 KiB under way are what keeps memory busy.
std::optional<Tile> with_stages(const DecodeProblem& problem, Tile tile, const DecodeDevice& device) {
  const std::uint32_t multiprocessor_bytes = device.shared_bytes_per_block + kReservedSharedBytes;
  for (const std::uint32_t blocks : {2u, 1u}) {
    for (tile.stages = 6; tile.stages >= 2; --tile.stages) {
      tile.shared_bytes = shared_bytes(problem, tile);
      const std::uint32_t used = tile.shared_bytes + kReservedSharedBytes;
      if (used * blocks > multiprocessor_bytes) continue;
      tile.blocks_per_multiprocessor =
          std::min(static_cast<int>(multiprocessor_bytes / used), blocks_by_registers(problem, tile));
      return tile;
    }
  }
  return std::nullopt;
}

// A tile as it is, if a block of it fits the device.
std::optional<Tile> measured_tile(const DecodeProblem& problem, const DecodeTile& shape,
                                  const DecodeDevice& device) {
  Tile tile;
  tile.q = shape.q;
  tile.kv = shape.kv;
  tile.stages = shape.stages;
  tile.shared_bytes = shared_bytes(problem, tile);
  if (tile.shared_bytes > device.shared_bytes_per_block) return std::nullopt;
  const std::uint32_t used = tile.shared_bytes + kReservedSharedBytes;
  const std::uint32_t multiprocessor_bytes = device.shared_bytes_per_block + kReservedSharedBytes;
  tile.blocks_per_multiprocessor =
      std::min(static_cast<int>(multiprocessor_bytes / used), blocks_by_registers(problem, tile));
  return tile;
}

std::optional<Tile> choose_tile(const DecodeProblem& problem, const DecodeDevice& device) {
  const int rows = problem.group() * std::min(problem.q_len, 64);
  // Steps of 32 KiB: 128 tokens of head dim 64, 64 of 128, 32 of 256.
  int preferred = 128;
  while (preferred > kSlice && preferred * row_bytes(problem) > 32 * 1024)
    preferred /= 2;
  for (int q = rows <= 16 ? 16 : rows <= 32 ? 32 : 64; q >= 16; q /= 2) {
    for (int kv = std::min(preferred, kMaximumTileArea / q); kv >= kSlice; kv /= 2) {
      Tile tile;
      tile.q = q;
      tile.kv = kv;
      if (const auto fitting = with_stages(problem, tile, device)) return fitting;
    }
  }
  return std::nullopt;
}

// Tokens that the queries of a sequence of this length read.
int readable_tokens(const DecodeProblem& problem, int length) {
  if (!problem.window) return length;
  const std::int64_t window = std::int64_t{*problem.window} + problem.q_len - 1 + (kSlice - 1);
  return static_cast<int>(std::min<std::int64_t>(length, window));
}

struct Splits {
  int count = 1;
  int tokens = 0;  // of a split, at least
  double microseconds = std::numeric_limits<double>::infinity();
};

Splits evaluate(const DecodeProblem& problem, const DecodeDevice& device, const Tile& tile, int chunk,
                int splits) {
  const int q_tiles = divide_up(problem.group() * problem.q_len, tile.q);
  // What is multiplied by it is a double: sizes that check() accepts pass 2^63 together.
  const double columns = static_cast<double>(problem.heads_kv) * q_tiles;
  std::int64_t blocks = 0;
  std::int64_t tokens = 0;
  const auto add = [&](int length, std::int64_t sequences) {
    const int readable = readable_tokens(problem, length);
    blocks += sequences * std::max(divide_up(readable, chunk), 1);
    tokens += sequences * readable;
  };
  if (problem.kv_lengths.empty()) add(problem.kv_len_max, problem.batch);
  for (const std::int32_t length : problem.kv_lengths)
    add(length, 1);

  DecodeLaunch launch;
  launch.blocks = static_cast<double>(blocks) * columns;
  launch.empty_blocks = static_cast<double>(problem.batch) * splits * columns - launch.blocks;
  launch.bytes = static_cast<double>(tokens) * columns * row_bytes(problem);
  launch.largest_block_bytes = static_cast<double>(chunk) * row_bytes(problem);
  launch.ring_bytes = static_cast<double>(tile.stages) * tile.kv * row_bytes(problem);
  launch.blocks_per_multiprocessor = tile.blocks_per_multiprocessor;
  launch.multiprocessors = device.multiprocessors;
  launch.splits = splits;
  return Splits{splits, chunk, estimate_microseconds(launch)};
}

// Tokens of the longest sequence that its queries read, at least 1.
int longest_reach(const DecodeProblem& problem) {
  int longest = problem.kv_len_max;
  if (!problem.kv_lengths.empty())
    longest = *std::max_element(problem.kv_lengths.begin(), problem.kv_lengths.end());
  return std::max(readable_tokens(problem, longest), 1);
}

// As many as the caller wants: a sequence that is too short for all of them leaves some empty.
Splits forced_splits(const DecodeProblem& problem, const DecodeDevice& device, const Tile& tile, int splits) {
  const int chunk = divide_up(divide_up(longest_reach(problem), splits), tile.kv) * tile.kv;
  Splits forced = evaluate(problem, device, tile, chunk, splits);
  forced.tokens = tile.kv;
  return forced;
}

Splits choose_splits(const DecodeProblem& problem, const DecodeDevice& device, const Tile& tile) {
  const int longest = longest_reach(problem);
  // A split of less than two steps costs more in the reduction than its shorter loop saves.
  const int most = std::clamp(longest / (2 * tile.kv), 1, kMaximumDecodeSplits);
  Splits best;
  for (int wanted = 1; wanted <= most; ++wanted) {
    const int chunk = divide_up(divide_up(longest, wanted), tile.kv) * tile.kv;
    const int splits = divide_up(longest, chunk);
    if (splits != wanted) continue;  // the same as a smaller number
    const Splits candidate = evaluate(problem, device, tile, chunk, splits);
    if (candidate.microseconds < best.microseconds) best = candidate;
  }
  // Of lengths that are not known, a shorter one than the longest is divided among all splits.
  if (problem.kv_lengths.empty()) best.tokens = 2 * tile.kv;
  return best;
}

struct Choice {
  Tile tile;
  Splits splits;
};

// The tile by rule and its best splits, or the fastest of the tiles that are allowed.
std::optional<Choice> choose(const DecodeProblem& problem, const DecodeDevice& device,
                             const DecodePlanLimits& limits) {
  const auto splits_of = [&](const Tile& tile) {
    return limits.splits ? forced_splits(problem, device, tile, *limits.splits)
                         : choose_splits(problem, device, tile);
  };
  if (!limits.tiles) {
    const std::optional<Tile> tile = choose_tile(problem, device);
    if (!tile) return std::nullopt;
    return Choice{*tile, splits_of(*tile)};
  }
  std::optional<Choice> best;
  for (const DecodeTile& allowed : *limits.tiles) {
    const auto tile = measured_tile(problem, allowed, device);
    if (!tile) continue;
    const Choice choice{*tile, splits_of(*tile)};
    if (!best || choice.splits.microseconds < best->splits.microseconds) best = choice;
  }
  return best;
}

struct KvStrides {
  long long page = 0;
  long long token = 0;
  long long head = 0;
};

KvStrides kv_strides(const DecodeProblem& problem, int head_dim) {
  const long long tokens = problem.page_size;
  const long long heads = problem.heads_kv;
  if (problem.layout == KvLayout::nhd) return {tokens * heads * head_dim, heads * head_dim, head_dim};
  return {tokens * heads * head_dim, head_dim, tokens * head_dim};
}

Result<AttentionDecodeParameters> parameters_for(const DecodeProblem& problem, const Splits& splits,
                                                 std::int64_t q_tiles) {
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
  p.page_table_stride = problem.pages_per_sequence();
  p.q_len = problem.q_len;
  p.min_tokens_per_split = splits.tokens;
  p.window = problem.window.value_or(0);
  p.max_kv_length = problem.kv_len_max;
  p.softmax_scale_log2 = problem.scale() * std::numbers::log2e_v<float>;
  CUBINET_TRY_ASSIGN(p.heads_q, make_fast_divisor(problem.heads_q));
  CUBINET_TRY_ASSIGN(p.group, make_fast_divisor(problem.group()));
  CUBINET_TRY_ASSIGN(p.q_tiles, make_fast_divisor(q_tiles));
  CUBINET_TRY_ASSIGN(p.num_splits, make_fast_divisor(splits.count));
  return p;
}

// A kernel that met such an address would stop with CUDA's error of a misaligned address, which names
// nothing.
Result<void> check_aligned(const char* tensor, std::uint64_t address, std::uint64_t alignment) {
  if (address % alignment == 0) return {};
  return Error{ErrorCode::invalid_argument, "decode: the address of " + std::string(tensor) + " is " +
                                                std::to_string(address) + ", but must be a multiple of " +
                                                std::to_string(alignment) + " bytes"};
}

Result<void> check_tensors(const DecodeTensors& tensors, bool reduces) {
  CUBINET_TRY(check_aligned("q", tensors.q, 16));
  CUBINET_TRY(check_aligned("k", tensors.k, 16));
  CUBINET_TRY(check_aligned("v", tensors.v, 16));
  CUBINET_TRY(check_aligned("o", tensors.o, 16));
  CUBINET_TRY(check_aligned("lse", tensors.lse, 4));
  CUBINET_TRY(check_aligned("page_table", tensors.page_table, 4));
  CUBINET_TRY(check_aligned("kv_lengths", tensors.kv_lengths, 4));
  if (!reduces) return {};
  if (tensors.workspace == 0) {
    return Error{
        ErrorCode::invalid_argument,
        "decode: there is no workspace, but a plan of several KV splits needs workspace_bytes of it"};
  }
  return check_aligned("workspace", tensors.workspace, 16);
}

}  // namespace

Result<AttentionDecodeParameters> DecodePlan::arguments(const DecodeTensors& tensors) const {
  CUBINET_TRY(check_tensors(tensors, reduces()));
  AttentionDecodeParameters p = parameters;
  p.q = tensors.q;
  p.k = tensors.k;
  p.v = tensors.v;
  p.o = tensors.o;
  p.lse = tensors.lse;
  p.page_table = tensors.page_table;
  p.kv_lengths = tensors.kv_lengths;
  if (reduces()) {
    p.partial_o = tensors.workspace;
    p.partial_lse = tensors.workspace + partial_lse_offset;
  }
  return p;
}

KernelSpec decode_specification(const DecodeProblem& problem) {
  KernelSpec spec{"attention_decode", {}};
  const auto type = [](DataType value) { return ParameterValue(std::string(to_string(value))); };
  spec.set("dtype_q", type(problem.dtype_q))
      .set("dtype_kv", type(problem.dtype_kv))
      .set("dtype_o", type(problem.dtype_o))
      .set("head_dim_qk", problem.head_dim_qk)
      .set("head_dim_v", problem.head_dim_v)
      .set("page_size", problem.page_size)
      .set("mask", problem.mask == DecodeMask::causal ? "causal" : "dense")
      .set("sliding_window", ParameterValue(problem.window.has_value()));
  return spec;
}

Result<DecodePlan> plan_decode(const DecodeProblem& problem, const DecodeDevice& device,
                               const DecodePlanLimits& limits) {
  CUBINET_TRY(check(problem));
  if (device.multiprocessors < 1) {
    return Error{ErrorCode::invalid_argument, "decode: the device has no multiprocessors"};
  }
  if (limits.splits && (*limits.splits < 1 || *limits.splits > kMaximumDecodeSplits)) {
    return Error{ErrorCode::invalid_argument, "decode: the number of KV splits is " +
                                                  std::to_string(*limits.splits) + ", but must be 1 to " +
                                                  std::to_string(kMaximumDecodeSplits)};
  }
  const std::optional<Choice> choice = choose(problem, device, limits);
  if (!choice) {
    return Error{ErrorCode::unsupported,
                 "decode: no tile " + std::string(limits.tiles ? "that is allowed " : "") + "of head dims " +
                     std::to_string(problem.head_dim_qk) + " and " + std::to_string(problem.head_dim_v) +
                     " fits the " + std::to_string(device.shared_bytes_per_block) +
                     " bytes of shared memory that a block may use on the device"};
  }
  const Tile& tile = choice->tile;
  const Splits& splits = choice->splits;
  const std::int64_t rows = std::int64_t{problem.q_len} * problem.heads_q;
  const std::int64_t q_tiles = divide_up(problem.group() * problem.q_len, tile.q);
  if (q_tiles * splits.count > std::numeric_limits<std::int32_t>::max()) {
    return Error{ErrorCode::invalid_argument,
                 "decode: q_len " + std::to_string(problem.q_len) + " makes a grid beyond CUDA's limit"};
  }

  const double partial_floats =
      static_cast<double>(rows) * problem.batch * splits.count * (problem.head_dim_v + 1);
  if (splits.count > 1 && partial_floats * sizeof(float) > 0x1p62) {
    return Error{ErrorCode::invalid_argument,
                 "decode: the workspace of batch " + std::to_string(problem.batch) + ", q_len " +
                     std::to_string(problem.q_len) + ", heads_q " + std::to_string(problem.heads_q) +
                     ", head_dim_v " + std::to_string(problem.head_dim_v) + " and " +
                     std::to_string(splits.count) + " KV splits passes 2^62 bytes; ask for fewer splits"};
  }

  DecodePlan plan;
  plan.spec = decode_specification(problem);
  plan.spec.set("tile_size_q", tile.q).set("tile_size_kv", tile.kv).set("stages", tile.stages);
  plan.num_splits = splits.count;
  plan.grid = {static_cast<std::uint32_t>(q_tiles * splits.count),
               static_cast<std::uint32_t>(problem.heads_kv), static_cast<std::uint32_t>(problem.batch)};
  plan.reduce_grid = {static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(problem.batch), 1};
  if (plan.reduces()) {
    const auto partial_rows =
        static_cast<std::uint64_t>(rows * problem.batch) * static_cast<std::uint64_t>(splits.count);
    const std::uint64_t partial_o =
        partial_rows * static_cast<std::uint64_t>(problem.head_dim_v) * sizeof(float);
    plan.partial_lse_offset = (partial_o + kAlignment - 1) / kAlignment * kAlignment;
    plan.workspace_bytes = plan.partial_lse_offset + partial_rows * sizeof(float);
  }
  CUBINET_TRY_ASSIGN(plan.parameters, parameters_for(problem, splits, q_tiles));
  plan.shared_bytes = tile.shared_bytes;
  plan.estimated_microseconds = splits.microseconds;
  return plan;
}

}  // namespace cubinet
