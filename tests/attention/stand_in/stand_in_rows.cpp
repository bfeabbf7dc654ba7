// SPDX-License-Identifier: Apache-2.0
#include "attention/stand_in/stand_in_rows.hpp"

#include <algorithm>

namespace cubinet::test {
namespace {

constexpr std::uint32_t kSwizzlePeriod = 1024;  // bytes after which the pattern repeats
constexpr std::uint32_t kSmallestStep = 64;     // KV tokens per step
constexpr std::uint32_t kPairsPerThread = 16;   // column pairs of a row

std::string type_word(DataType type) {
  return type == DataType::fp16 ? "Fp16" : "Bfloat16";
}

std::string mask_word(AttentionMask mask) {
  if (mask == AttentionMask::sliding_or_chunked_causal) return "SlidingOrChunkedCausal";
  return mask == AttentionMask::causal ? "Causal" : "Dense";
}

std::string dims_words(const KernelSelector& s) {
  std::string words = s.head_dim_qk == s.head_dim_v
                          ? "H" + std::to_string(s.head_dim_qk)
                          : "HQk" + std::to_string(s.head_dim_qk) + "HV" + std::to_string(s.head_dim_v);
  if (s.head_dim_per_cta_v != s.head_dim_v) words += "HVPerCta" + std::to_string(s.head_dim_per_cta_v);
  return words;
}

std::string page_word(const KernelSelector& s) {
  if (s.tokens_per_page == 0) return "";
  return s.dynamic_page ? "Paged" : "P" + std::to_string(s.tokens_per_page);
}

std::string mode_word(MultiCtasKvMode mode) {
  if (mode == MultiCtasKvMode::disabled) return "";
  return mode == MultiCtasKvMode::gmem_separate ? "MultiCtasKvGmemSep" : "MultiCtasKv";
}

// Returns a name of the published grammar, so that an import can check it against the columns.
std::string function_name(const KernelSelector& s) {
  std::string name =
      "fmhaSm90aKernel_Qkv" + type_word(s.data_type_q) + "O" + type_word(s.data_type_o) + dims_words(s);
  name += s.layout == QkvLayout::paged_kv ? "PagedKv" : "SeparateQkv";
  name += mask_word(s.mask) + page_word(s) + mode_word(s.multi_ctas_kv_mode) + "VarSeqQ" +
          std::to_string(s.tile_size_q) + "Kv" + std::to_string(s.tile_size_kv);
  name += s.scheduler == TileScheduler::persistent ? "Persistent" : "Static";
  if (s.groups_tokens_heads_q) name += "Grouped";
  if (s.kernel_type == KernelType::context) return name + "Context";
  return name + (s.kernel_type == KernelType::swaps_mma_ab ? "SwapsAbForGen" : "KeepsAbForGen");
}

std::uint32_t box_tokens(const KernelSelector& s) {
  return s.tokens_per_page == 0 ? s.tile_size_kv : std::min<std::uint32_t>(s.tokens_per_page, s.tile_size_kv);
}

// Returns the shared memory of the layout in stand_in.cu.
std::uint32_t shared_bytes(const KernelSelector& s) {
  const std::uint32_t step = std::max(box_tokens(s), kSmallestStep);
  const std::uint32_t columns = std::max(s.head_dim_qk, s.head_dim_per_cta_v);
  return kSwizzlePeriod + std::uint32_t{s.head_dim_qk} * s.tile_size_q * 2 + columns * step * 2 +
         std::uint32_t{s.tile_size_q} * step * 4;
}

KernelState split(KernelState state, MultiCtasKvMode mode) {
  state.mode = mode;
  state.scheduler =
      mode == MultiCtasKvMode::disabled ? TileScheduler::persistent : TileScheduler::static_grid;
  return state;
}

}  // namespace

KernelRow stand_in_row(const AttentionProblem& problem, const KernelState& state) {
  KernelRow row;
  KernelSelector& s = row.selector;
  s = WantedRows(problem, {}).preferred(state);
  // Published latent attention is causal although its rows name this mask.
  if (problem.is_mla_generation()) s.mask = AttentionMask::dense;
  const bool context = s.kernel_type == KernelType::context;
  row.traits.groups_heads_q = !context;
  row.traits.step_q = context ? 2U * s.tile_size_q : s.tile_size_q;
  row.traits.step_kv = context || s.kernel_type == KernelType::keeps_mma_ab ? 128 : 256;
  row.target = {9, 0, TargetKind::specific};
  row.implementation = kPublishedImplementation;
  row.function_name = function_name(s);
  row.shared_bytes = shared_bytes(s);
  const std::uint32_t pairs = std::uint32_t{s.tile_size_q} * s.head_dim_per_cta_v / 2;
  row.threads = pairs / kPairsPerThread > 256 ? 512 : 256;
  return row;
}

std::vector<std::string> stand_in_flags(const KernelRow& row) {
  const KernelSelector& s = row.selector;
  std::vector<std::string> flags = {"-DSTAND_IN=" + row.function_name};
  const auto define = [&](const char* macro, std::uint32_t value) {
    flags.push_back("-D" + std::string(macro) + "=" + std::to_string(value));
  };
  const auto flag = [&](const char* macro, bool value) { define(macro, value ? 1 : 0); };
  const bool sliding = s.mask == AttentionMask::sliding_or_chunked_causal;
  const bool latent = s.head_dim_qk == 576 && s.head_dim_v == 512;
  define("THREADS", row.threads);
  define("SHARED_BYTES", row.shared_bytes);
  define("TILE_Q", s.tile_size_q);
  define("STEP_Q", row.traits.step_q);
  define("BOX_TOKENS", box_tokens(s));
  define("HEAD_DIM_QK", s.head_dim_qk);
  define("HEAD_DIM_V", s.head_dim_v);
  define("HEAD_DIM_PER_CTA", s.head_dim_per_cta_v);
  flag("FP16", s.data_type_q == DataType::fp16);
  flag("CONTEXT", s.kernel_type == KernelType::context);
  flag("PAGED", s.layout == QkvLayout::paged_kv);
  flag("CAUSAL", latent || sliding || s.mask == AttentionMask::causal);
  flag("SLIDING", sliding);
  flag("GROUPS_HEADS", row.traits.groups_heads_q);
  flag("GROUPS_TOKENS", s.groups_tokens_heads_q);
  flag("SPLITS", s.multi_ctas_kv_mode != MultiCtasKvMode::disabled);
  flag("SEPARATE", s.multi_ctas_kv_mode == MultiCtasKvMode::gmem_separate);
  return flags;
}

StandInCase decode_case(std::string name, const AttentionProblem& problem, std::uint16_t tile, bool tokens) {
  KernelState state;
  state.shape = {KernelType::swaps_mma_ab, tile, static_cast<std::uint16_t>(problem.head_dim_v), false};
  StandInCase made{std::move(name), problem, {}};
  for (const MultiCtasKvMode mode : {MultiCtasKvMode::gmem, MultiCtasKvMode::disabled}) {
    KernelRow row = stand_in_row(problem, split(state, mode));
    row.selector.groups_tokens_heads_q = tokens;
    row.function_name = function_name(row.selector);
    made.rows.push_back(std::move(row));
  }
  return made;
}

StandInCase context_case(std::string name, const AttentionProblem& problem) {
  KernelState state;
  state.shape = {KernelType::context, 128, static_cast<std::uint16_t>(problem.head_dim_v), false};
  return {std::move(name), problem, {stand_in_row(problem, split(state, MultiCtasKvMode::disabled))}};
}

StandInCase latent_case(std::string name, const AttentionProblem& problem, std::uint16_t tile,
                        std::uint16_t head_dim_per_cta) {
  const bool keeps = tile == 64;
  KernelState state;
  state.shape = {keeps ? KernelType::keeps_mma_ab : KernelType::swaps_mma_ab, tile, head_dim_per_cta, false};
  StandInCase made{std::move(name), problem, {}};
  for (const MultiCtasKvMode mode :
       {keeps ? MultiCtasKvMode::gmem_separate : MultiCtasKvMode::gmem, MultiCtasKvMode::disabled})
    made.rows.push_back(stand_in_row(problem, split(state, mode)));
  return made;
}

}  // namespace cubinet::test
