// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/property_counts.hpp"

#include <cubinet/base/bytes.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>

#include <cstdint>
#include <random>
#include <string>

namespace cubinet::test {

// Returns a valid random selector. Every field takes every kind of value that it may have.
inline KernelSelector random_selector(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  const auto flag = [&] { return below(2) == 1; };
  const auto head_dim = [&] { return static_cast<std::uint16_t>(8 * (1 + below(128))); };
  KernelSelector s;
  s.data_type_q = static_cast<DataType>(below(8));
  s.data_type_k = static_cast<DataType>(below(8));
  s.data_type_v = static_cast<DataType>(below(8));
  s.data_type_o = static_cast<DataType>(below(8));
  s.layout = static_cast<QkvLayout>(below(4));
  s.mask = static_cast<AttentionMask>(below(4));
  constexpr KernelType kTypes[] = {KernelType::context, KernelType::swaps_mma_ab, KernelType::keeps_mma_ab,
                                   KernelType::spec_decoding};
  s.kernel_type = kTypes[below(4)];
  s.scheduler = static_cast<TileScheduler>(below(2));
  s.multi_ctas_kv_mode = static_cast<MultiCtasKvMode>(below(4));
  s.sparse = static_cast<SparseAttention>(below(3));
  s.kv_transform = static_cast<KvTransform>(below(3));
  s.tile_size_q = static_cast<std::uint16_t>(8U << below(6));
  s.tile_size_kv = static_cast<std::uint16_t>(16U << below(5));
  s.head_dim_per_cta_v = head_dim();
  s.head_dim_qk = head_dim();
  s.head_dim_v = head_dim();
  s.dynamic_page = below(4) == 0;
  s.tokens_per_page = s.dynamic_page ? kDynamicPage : below(4) == 0 ? 0 : 1U << below(21);
  for (std::uint16_t& block : s.sage_block)
    block = static_cast<std::uint16_t>(flag() ? 0 : 1U << below(13));
  s.groups_tokens_heads_q = flag();
  s.reuses_smem_k_for_v = flag();
  s.two_cta = flag();
  s.skips_softmax = flag();
  s.fp16_softmax = flag();
  s.spcompress = flag();
  s.fuses_inverse_rope_quant = flag();
  s.ue8m0_output_scale = flag();
  s.soft_cap = flag();
  s.separate_page_tables = flag();
  s.invariant = flag();
  return s;
}

inline KernelRow random_row(std::mt19937_64& random) {
  KernelRow row;
  row.selector = random_selector(random);
  row.traits.step_q = static_cast<std::uint32_t>(1 + random() % 512);
  row.traits.step_kv = static_cast<std::uint32_t>(16 * (1 + random() % 32));
  row.traits.groups_heads_q = random() % 2 == 0;
  row.traits.stages = static_cast<std::uint16_t>(random() % 5);
  constexpr std::string_view kImplementations[] = {"", "trtllm-gen", "attention_decode", "my.kernels-2"};
  row.implementation = kImplementations[random() % 4];
  const auto targets = known_targets();
  row.target = targets[random() % targets.size()];
  if (random() % 4 == 0) row.extras.push_back({"mFuture", random() % 2 == 0 ? "true" : "17"});
  if (random() % 4 == 0) row.extras.push_back({"mReserved", "false"});
  row.function_name = "kernel_" + std::to_string(random() % 100'000);
  row.shared_bytes = static_cast<std::uint32_t>(random() % 232'448);
  row.threads = 128;
  row.digest = sha256(as_bytes(row.function_name));
  return row;
}

// Returns a decode row of the most common kind.
inline KernelRow sample_row(SmTarget target = {10, 0, TargetKind::family}) {
  KernelRow row;
  row.selector.tokens_per_page = 64;
  row.selector.groups_tokens_heads_q = true;
  row.selector.multi_ctas_kv_mode = MultiCtasKvMode::gmem;
  row.target = target;
  row.implementation = kPublishedImplementation;
  row.function_name = "decode_" + target.to_string();
  row.shared_bytes = 100'000;
  row.threads = 512;
  row.digest = sha256(as_bytes(row.function_name));
  return row;
}

}  // namespace cubinet::test
