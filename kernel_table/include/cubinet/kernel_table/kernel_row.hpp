// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/base/sha256.hpp>
#include <cubinet/kernel_table/kernel_enums.hpp>
#include <cubinet/spec/data_type.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// What a selection asks for: a row's *selection identity*, without the target (the device decides between
// targets) and without the traits that are read off the row that was found.
struct KernelSelector {
  DataType data_type_q = DataType::bf16;
  DataType data_type_k = DataType::bf16;
  DataType data_type_v = DataType::bf16;
  DataType data_type_o = DataType::bf16;
  QkvLayout layout = QkvLayout::paged_kv;
  AttentionMask mask = AttentionMask::causal;
  KernelType kernel_type = KernelType::swaps_mma_ab;
  TileScheduler scheduler = TileScheduler::static_grid;
  MultiCtasKvMode multi_ctas_kv_mode = MultiCtasKvMode::disabled;
  SparseAttention sparse = SparseAttention::none;
  KvTransform kv_transform = KvTransform::full;
  std::uint16_t tile_size_q = 8;           // rows of Q an MMA tile: a multiple of 8, to 256
  std::uint16_t tile_size_kv = 128;        // KV tokens a tile: a power of two, 16 to 256
  std::uint16_t head_dim_per_cta_v = 128;  // columns of V that one CTA produces
  std::uint16_t head_dim_qk = 128;         // head dims: multiples of 8, 8 to 1024
  std::uint16_t head_dim_v = 128;
  std::uint32_t tokens_per_page = 0;  // 0: not paged; 1: sparse; otherwise a power of two
  // Sage attention's block sizes for Q, K, P, V; 0 is off.
  std::array<std::uint16_t, 4> sage_block = {0, 0, 0, 0};
  bool dynamic_page = false;  // takes any power-of-two page of at least 128; tokens_per_page is then 128
  bool groups_tokens_heads_q = false;  // packs tokens and heads of Q into a tile's rows
  bool reuses_smem_k_for_v = false;
  bool two_cta = false;  // a pair of CTAs shares one MMA
  bool skips_softmax = false;
  bool fp16_softmax = false;
  bool spcompress = false;
  bool fuses_inverse_rope_quant = false;
  bool ue8m0_output_scale = false;
  bool soft_cap = false;              // logits pass through a tanh; its bound is given at run time
  bool separate_page_tables = false;  // K and V are looked up apart; published kernels take tables of both

  friend bool operator==(const KernelSelector&, const KernelSelector&) = default;
};

// What is read off the row that was found. Part of the row's identity: two rows that differ here are two
// kernels.
struct KernelTraits {
  std::uint32_t step_q = 8;     // Q rows a CTA takes a step
  std::uint32_t step_kv = 256;  // KV tokens a main-loop step
  bool groups_heads_q = true;   // several Q heads of one KV head in a tile's rows
  std::uint16_t stages = 0;     // depth of the pipeline that fetches KV; 0: not stated

  friend bool operator==(const KernelTraits&, const KernelTraits&) = default;
};

// A column that this version does not know: kept as the table wrote it. "false", "0", "nullptr" and "" mean
// that the variant is off; anything else makes the row a kernel that no selection of this version asks for.
struct ExtraColumn {
  std::string name;
  std::string value;

  bool is_off() const { return value == "false" || value == "0" || value == "nullptr" || value.empty(); }
  friend bool operator==(const ExtraColumn&, const ExtraColumn&) = default;
};

// Everything that selecting, sizing, launching and verifying a kernel needs, so that no cubin is opened to
// choose one. A plain value.
struct KernelRow {
  KernelSelector selector;
  KernelTraits traits;
  SmTarget target;
  std::vector<ExtraColumn> extras;  // ascending by name
  // Whose kernels these are: the set that shares one parameter struct and one planner. Part of the identity:
  // two rows of equal selector and different implementation are two kernels.
  std::string implementation;
  // Of a published kernel, part of the identity: the name of the layout of its arguments, where it is known,
  // and the SHA-256 of the metadata that lists it in hexadecimal. Rows of two versions are never one kernel.
  std::string layout;
  std::string pin;

  std::string function_name;       // the kernel's symbol; a published cubin's file is <function_name>.cubin
  std::uint32_t shared_bytes = 0;  // dynamic shared memory a block
  std::uint32_t threads = 0;       // a block
  Sha256Digest digest;             // of the cubin's bytes
  // Where it lies, which no identity depends on.
  std::uint64_t version = 0;  // the bundle's, or the number under which an import was pinned
  std::string source;         // for people: a bundle's file or a folder

  bool understood() const;  // no extra column is on
  friend bool operator==(const KernelRow&, const KernelRow&) = default;
};

// Of the rows of published metadata headers. Compiled ones have the name of their template.
inline constexpr std::string_view kPublishedImplementation = "trtllm-gen";

// The ranges above; invalid_argument names the field, its value and what it may be. Nothing is rounded: a
// head dim of 129 is refused, not taken for 128.
Result<void> check_ranges(const KernelSelector& selector);
Result<void> check_ranges(const KernelRow& row);

// The head dims that kernels are built for.
inline constexpr std::uint32_t kHeadDimMultiple = 8;
inline constexpr std::uint32_t kMaximumHeadDim = 1024;
inline constexpr std::uint32_t kMaximumTokensPerPage = 1U << 20U;
// The page size that a dynamic-page kernel is listed under, and the smallest that it takes.
inline constexpr std::uint32_t kDynamicPage = 128;

}  // namespace cubinet
