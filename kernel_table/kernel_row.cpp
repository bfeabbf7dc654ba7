// SPDX-License-Identifier: Apache-2.0
#include <cubinet/kernel_table/kernel_row.hpp>

#include <algorithm>
#include <bit>
#include <string_view>

namespace cubinet {
namespace {

constexpr std::uint32_t kMaximumTileQ = 256;
constexpr std::uint32_t kMaximumTileKv = 256;
constexpr std::uint32_t kMaximumStages = 64;
constexpr std::size_t kMaximumImplementation = 64;
constexpr std::uint32_t kMaximumStep = 4096;
constexpr std::uint32_t kMaximumThreads = 1024;
constexpr std::uint32_t kMaximumSageBlock = 4096;
constexpr std::uint16_t kMaximumMajor = 99;

Error out_of_range(std::string_view field, std::uint64_t value, std::string_view allowed) {
  return Error{ErrorCode::invalid_argument, "a kernel's " + std::string(field) + " is " +
                                                std::to_string(value) + ": it must be " +
                                                std::string(allowed)};
}

Result<void> check_head_dim(std::string_view field, std::uint32_t value) {
  if (value == 0 || value > kMaximumHeadDim || value % kHeadDimMultiple != 0) {
    return out_of_range(field, value, "a multiple of 8 from 8 to 1024");
  }
  return {};
}

template <class Enum>
Result<void> check_enum(std::string_view field, Enum value, Enum last) {
  if (value > last) return out_of_range(field, static_cast<std::uint64_t>(value), "an enumerated value");
  return {};
}

Result<void> check_enums(const KernelSelector& selector) {
  for (const DataType type :
       {selector.data_type_q, selector.data_type_k, selector.data_type_v, selector.data_type_o}) {
    CUBINET_TRY(check_enum("data type", type, DataType::e2m1));
  }
  CUBINET_TRY(check_enum("qkv_layout", selector.layout, QkvLayout::contiguous_kv));
  CUBINET_TRY(check_enum("mask", selector.mask, AttentionMask::custom));
  CUBINET_TRY(check_enum("kernel_type", selector.kernel_type, KernelType::spec_decoding));
  if (selector.kernel_type == KernelType::generation) {
    return out_of_range("kernel_type", 1, "context, swaps, keeps or spec_decoding: 1 asks to choose");
  }
  CUBINET_TRY(check_enum("tile_scheduler", selector.scheduler, TileScheduler::persistent));
  CUBINET_TRY(check_enum("multi_ctas_kv_mode", selector.multi_ctas_kv_mode, MultiCtasKvMode::cga));
  CUBINET_TRY(check_enum("sparse", selector.sparse, SparseAttention::dynamic_token));
  return check_enum("kv_transform", selector.kv_transform, KvTransform::separate_kv);
}

// Checks a name that is part of keys and messages. It has the form of a template's name or a
// product's.
Result<void> check_implementation(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
  };
  if (name.size() <= kMaximumImplementation && std::all_of(name.begin(), name.end(), allowed)) return {};
  return Error{
      ErrorCode::invalid_argument,
      "a kernel's implementation is no name: it must be at most 64 letters, digits, '_', '-' and '.'"};
}

Result<void> check_page(const KernelSelector& selector) {
  const std::uint32_t page = selector.tokens_per_page;
  if (page != 0 && (!std::has_single_bit(page) || page > kMaximumTokensPerPage)) {
    return out_of_range("tokens_per_page", page, "0 or a power of two up to 2^20");
  }
  if (selector.dynamic_page && page != kDynamicPage) {
    return out_of_range("tokens_per_page", page, "128 where the page is dynamic");
  }
  return {};
}

}  // namespace

bool KernelRow::understood() const {
  return std::all_of(extras.begin(), extras.end(), [](const ExtraColumn& extra) { return extra.is_off(); });
}

Result<void> check_ranges(const KernelSelector& selector) {
  CUBINET_TRY(check_enums(selector));
  if (selector.tile_size_q % 8 != 0 || selector.tile_size_q < 8 || selector.tile_size_q > kMaximumTileQ) {
    return out_of_range("tile_size_q", selector.tile_size_q, "a multiple of 8 up to 256");
  }
  if (selector.tile_size_kv % 16 != 0 || selector.tile_size_kv < 16 ||
      selector.tile_size_kv > kMaximumTileKv) {
    return out_of_range("tile_size_kv", selector.tile_size_kv, "a multiple of 16 up to 256");
  }
  CUBINET_TRY(check_head_dim("head_dim_qk", selector.head_dim_qk));
  CUBINET_TRY(check_head_dim("head_dim_v", selector.head_dim_v));
  CUBINET_TRY(check_head_dim("head_dim_per_cta_v", selector.head_dim_per_cta_v));
  for (const std::uint16_t block : selector.sage_block) {
    if (block != 0 && (!std::has_single_bit(block) || block > kMaximumSageBlock)) {
      return out_of_range("Sage block size", block, "0 or a power of two up to 4096");
    }
  }
  return check_page(selector);
}

Result<void> check_ranges(const KernelRow& row) {
  CUBINET_TRY(check_ranges(row.selector));
  if (row.traits.step_q == 0 || row.traits.step_q > kMaximumStep) {
    return out_of_range("step_q", row.traits.step_q, "from 1 to 4096");
  }
  if (row.traits.step_kv == 0 || row.traits.step_kv > kMaximumStep || row.traits.step_kv % 16 != 0) {
    return out_of_range("step_kv", row.traits.step_kv, "a multiple of 16 up to 4096");
  }
  if (row.traits.stages > kMaximumStages) return out_of_range("stages", row.traits.stages, "at most 64");
  CUBINET_TRY(check_implementation(row.implementation));
  if (row.threads > kMaximumThreads) return out_of_range("threads", row.threads, "at most 1024");
  if (row.target.kind > TargetKind::family || row.target.major > kMaximumMajor || row.target.minor > 9) {
    return out_of_range("SM target", row.target.major * 10U + row.target.minor, "a known form of target");
  }
  const auto by_name = [](const ExtraColumn& a, const ExtraColumn& b) { return a.name >= b.name; };
  if (std::adjacent_find(row.extras.begin(), row.extras.end(), by_name) != row.extras.end()) {
    return Error{ErrorCode::invalid_argument, "a kernel's extra columns are not in ascending order"};
  }
  return {};
}

}  // namespace cubinet
