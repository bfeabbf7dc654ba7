// SPDX-License-Identifier: Apache-2.0
#include <cubinet/kernel_table/kernel_enums.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

// Frozen: these numbers are stored in keys and published headers.
TEST_CASE("enumerations have the values of published headers") {
  CHECK(static_cast<int>(QkvLayout::contiguous_kv) == 3);
  CHECK(static_cast<int>(QkvLayout::paged_kv) == 2);
  CHECK(static_cast<int>(AttentionMask::sliding_or_chunked_causal) == 2);
  CHECK(static_cast<int>(AttentionMask::custom) == 3);
  CHECK(static_cast<int>(KernelType::swaps_mma_ab) == 2);
  CHECK(static_cast<int>(KernelType::keeps_mma_ab) == 3);
  CHECK(static_cast<int>(KernelType::spec_decoding) == 4);
  CHECK(static_cast<int>(TileScheduler::persistent) == 1);
  CHECK(static_cast<int>(MultiCtasKvMode::gmem_separate) == 2);
  CHECK(static_cast<int>(MultiCtasKvMode::cga) == 3);
  CHECK(static_cast<int>(SparseAttention::dynamic_token) == 2);
  CHECK(static_cast<int>(KvTransform::separate_kv) == 2);
}

TEST_CASE("enumerators have the names that the tool prints, and a stray value has one too") {
  CHECK(to_string(KernelType::swaps_mma_ab) == "swaps");
  CHECK(to_string(KernelType::context) == "context");
  CHECK(to_string(MultiCtasKvMode::gmem_separate) == "gmem_separate");
  CHECK(to_string(TileScheduler::static_grid) == "static");
  CHECK(to_string(QkvLayout::paged_kv) == "paged_kv");
  CHECK(to_string(AttentionMask::custom) == "custom");
  CHECK(to_string(SparseAttention::none) == "none");
  CHECK(to_string(KvTransform::k_only) == "k_only");
  CHECK(to_string(static_cast<AttentionMask>(200)) == "unknown");
}

}  // namespace
}  // namespace cubinet
