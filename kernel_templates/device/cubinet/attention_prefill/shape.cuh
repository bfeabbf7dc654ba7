// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sizes of the template `attention_prefill`, computed from its parameters.
#include <cubinet/attention/shape.cuh>
#include <cubinet/kernel_templates/attention_prefill_parameters.h>
#include <cubinet/parameters.cuh>

namespace cubinet::attention_prefill {

using namespace parameters;
using namespace attention;
using kernel_templates::AttentionPrefillParameters;

struct Declared {
  using Q = dtype;
  using Kv = dtype_kv;
  using Output = dtype_o;
  static constexpr bool kIsInvariant = numerics == numerics_values::invariant;
  // Rows in shared memory are padded with zeros to multiples of 64 bytes.
  static constexpr int kPadding = 64 / int{sizeof(Kv)};
  static constexpr int kHeadDimQk = round_up(head_dim_qk, kPadding);
  static constexpr int kColumnParts = divide_up(head_dim_v, kIsInvariant ? 128 : 256);
  static constexpr int kColumnsQk = head_dim_qk;
  static constexpr int kColumnsV = head_dim_v / kColumnParts;  // of one part
  static constexpr int kHeadDimV = round_up(kColumnsV, kPadding);
  static constexpr int kTileQ = tile_size_q;
  static constexpr bool kPaged = kv_layout == kv_layout_values::paged;
  static constexpr bool kCausal = mask == mask_values::causal;
  static constexpr bool kCustomMask = false;
  static constexpr bool kSlidingWindow = sliding_window;
  static constexpr bool kSoftCap = soft_cap;
  static constexpr bool kSeparatePageTables = separate_page_tables;
};

struct Shape : BasicShape<Declared> {
  static constexpr bool kInvariant = kIsInvariant;
  using Product = typename ProductOf<Q>::Type;  // KV of e4m3 is converted to the type of Q
  static constexpr int kRowBytesQ = kHeadDimQk * int{sizeof(Q)};
  static constexpr int kColumnBytesQ = kColumnsQk * int{sizeof(Q)};  // without the padding
  static constexpr int kQBytes = kTileQ * kRowBytesQ;
  static constexpr float kOffsetSlack = 0.0f;
  static constexpr int kWarpRows = 16;
  static constexpr int kThreads = 32 * kTileQ / kWarpRows;
  static constexpr int kStep = tile_size_kv;  // KV tokens
  static constexpr int kSlice = kStep;
  static constexpr int kTilesV = round_up(kColumnsV / 8, 2);
  static constexpr int kStepBytesK = kStep * kRowBytesK;
  static constexpr int kStepBytesV = kStep * kRowBytesV;
  static constexpr int kRingBytes = stages * (kStepBytesK + kStepBytesV);
  static constexpr int kNextTileBytes = 16;
  static constexpr int kSharedBytes = kQBytes + kRingBytes + kNextTileBytes;
  // Keeps Q in registers if it fits beside the accumulators.
  static constexpr bool kQInRegisters = kHeadDimQk <= (kInvariant ? 64 : 128);
  static constexpr int kBlocksPerSm = 1;
};
constexpr int kStepsQk = divide_up(head_dim_qk, 16);

static_assert(attention_prefill_threads == Shape::kThreads, "the host's formula of the CTA size differs");
static_assert(attention_prefill_shared_bytes == Shape::kSharedBytes,
              "the host's formula of the shared memory differs");

}  // namespace cubinet::attention_prefill
