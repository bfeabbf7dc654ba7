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

// The selection identity of a row, by which selections request kernels. It excludes the target,
// because the device decides between targets, and the traits, which are read from the row that was
// found.
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
  std::uint16_t tile_size_q = 8;           // rows of Q per MMA tile: a multiple of 8, to 256
  std::uint16_t tile_size_kv = 128;        // KV tokens per tile: a multiple of 16, to 256
  std::uint16_t head_dim_per_cta_v = 128;  // columns of V that one CTA produces
  std::uint16_t head_dim_qk = 128;         // head dims: multiples of 8, 8 to 1024
  std::uint16_t head_dim_v = 128;
  // 0: not paged, or the page size is a run-time argument; 1: sparse; otherwise a power of two.
  std::uint32_t tokens_per_page = 0;
  // Sage attention's block sizes for Q, K, P, V. 0 means off.
  std::array<std::uint16_t, 4> sage_block = {0, 0, 0, 0};
  // If true, accepts any power-of-two page size from 128 up, and tokens_per_page is 128.
  bool dynamic_page = false;
  bool groups_tokens_heads_q = false;  // packs tokens and heads of Q into a tile's rows
  bool reuses_smem_k_for_v = false;
  bool two_cta = false;  // a pair of CTAs shares one MMA
  bool skips_softmax = false;
  bool fp16_softmax = false;
  bool spcompress = false;
  bool fuses_inverse_rope_quant = false;
  bool ue8m0_output_scale = false;
  // If true, applies a tanh to the logits. Its bound is a run-time argument.
  bool soft_cap = false;
  // If true, K and V have separate page tables. Published kernels require both.
  bool separate_page_tables = false;
  // If true, computes each row by the arithmetic of docs/arithmetic.md.
  bool invariant = false;

  friend bool operator==(const KernelSelector&, const KernelSelector&) = default;
};

// The properties that are read from the row that was found. They are part of the row's identity:
// rows with different traits are different kernels.
struct KernelTraits {
  std::uint32_t step_q = 8;     // Q rows per CTA and step
  std::uint32_t step_kv = 256;  // KV tokens per main-loop step
  bool groups_heads_q = true;   // a tile's rows hold several Q heads of one KV head
  std::uint16_t stages = 0;     // depth of the pipeline that fetches KV; 0: not stated

  friend bool operator==(const KernelTraits&, const KernelTraits&) = default;
};

// A column that this version does not know, stored as the table wrote it. "false", "0", "nullptr"
// and "" mean that the variant is off. Any other value makes the row a kernel that no selection of
// this version requests.
struct ExtraColumn {
  std::string name;
  std::string value;

  bool is_off() const { return value == "false" || value == "0" || value == "nullptr" || value.empty(); }
  friend bool operator==(const ExtraColumn&, const ExtraColumn&) = default;
};

// An entry of the kernel table, which describes one build of an attention kernel: everything needed
// to select, size, launch and verify it, so that selection opens no cubin. A plain value.
struct KernelRow {
  KernelSelector selector;
  KernelTraits traits;
  SmTarget target;
  std::vector<ExtraColumn> extras;  // ascending by name
  // The name of the set of kernels with one argument structure and one planner: a template, or
  // "trtllm-gen". Part of the identity: rows with equal selectors and different implementations are
  // different kernels.
  std::string implementation;
  // For published kernels, and part of their identity. `layout` is the name of the layout of the
  // kernel's arguments, if known. `pin` is the SHA-256, in hexadecimal, of the metadata that lists
  // it. Rows of two versions are never the same kernel.
  std::string layout;
  std::string pin;

  // The kernel's symbol. A published cubin's file is <function_name>.cubin.
  std::string function_name;
  std::uint32_t shared_bytes = 0;  // dynamic shared memory per block
  std::uint32_t threads = 0;       // per block
  Sha256Digest digest;             // of the cubin's bytes
  // The location of the cubin, which is not part of any identity.
  std::uint64_t version = 0;  // of the bundle, or the number under which an import was pinned
  std::string source;         // for display: a bundle's file or a folder

  bool understood() const;  // returns true if no extra column is on
  friend bool operator==(const KernelRow&, const KernelRow&) = default;
};

// The implementation of rows from published metadata headers. Compiled rows have the name of their
// template.
inline constexpr std::string_view kPublishedImplementation = "trtllm-gen";

// Check the ranges above. Return an invalid_argument that names the field, its value and the
// allowed values. Nothing is rounded: a head dim of 129 is an error.
Result<void> check_ranges(const KernelSelector& selector);
Result<void> check_ranges(const KernelRow& row);

// The head dims that kernels are built for.
inline constexpr std::uint32_t kHeadDimMultiple = 8;
inline constexpr std::uint32_t kMaximumHeadDim = 1024;
inline constexpr std::uint32_t kMaximumTokensPerPage = 1U << 20U;
// The page size under which a dynamic-page kernel is listed, and the smallest that it accepts.
inline constexpr std::uint32_t kDynamicPage = 128;

}  // namespace cubinet
