// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/decode_problem.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/kernel_templates/attention_decode_parameters.h>
#include <cubinet/spec/kernel_spec.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace cubinet {

// What of a device decides how decode attention is divided: DeviceProperties::multiprocessors and
// ::maximum_shared_bytes_per_block.
struct DecodeDevice {
  int multiprocessors = 0;
  std::uint32_t shared_bytes_per_block = 0;  // opt-in limit
};

// Device addresses of the tensors of one call. K and V are pools of pages. The kernels read and write
// vectors: q, k, v, o and workspace are multiples of 16 bytes, the others of 4.
struct DecodeTensors {
  std::uint64_t q = 0;
  std::uint64_t k = 0;
  std::uint64_t v = 0;
  std::uint64_t o = 0;
  std::uint64_t lse = 0;         // [batch, q_len, heads_q] fp32; 0: not wanted
  std::uint64_t page_table = 0;  // [batch, pages_per_sequence] int32
  std::uint64_t kv_lengths = 0;  // [batch] int32
  std::uint64_t workspace = 0;   // DecodePlan::workspace_bytes; may be 0 when none are needed
};

// How one problem is computed on one device: which kernel, how it is launched. A plain value; valid for every
// set of tensors and lengths of the problem, so it may be captured in a CUDA graph.
struct DecodePlan {
  // Template `attention_decode` with every parameter set. Its entry points: "attention_decode", then, if
  // `reduces()`, "attention_decode_reduce" with the same parameters on the same stream.
  KernelSpec spec;
  int num_splits = 1;
  std::array<std::uint32_t, 3> grid = {1, 1, 1};
  std::array<std::uint32_t, 3> reduce_grid = {1, 1, 1};
  // Memory that belongs to one call at a time; needs no initialisation.
  std::uint64_t workspace_bytes = 0;
  std::uint64_t partial_lse_offset = 0;  // within the workspace, in bytes
  // Strides and scalars for contiguous tensors in the problem's layout; a caller with other strides changes
  // them.
  kernel_templates::AttentionDecodeParameters parameters = {};
  std::uint32_t shared_bytes = 0;     // of a block of the main kernel, as the template's formula says
  double estimated_microseconds = 0;  // of the cost model; comparable between plans, no promise

  bool reduces() const { return num_splits > 1; }
  // The kernels' argument for these tensors. invalid_argument names one that is not aligned as DecodeTensors
  // says, or the workspace where one is needed and there is none.
  Result<kernel_templates::AttentionDecodeParameters> arguments(const DecodeTensors& tensors) const;
};

// The shape of a kernel of the template.
struct DecodeTile {
  int q = 16;   // rows
  int kv = 64;  // tokens of a step
  int stages = 2;

  friend bool operator==(const DecodeTile&, const DecodeTile&) = default;
};

// What narrows a plan down beyond the problem and the device.
struct DecodePlanLimits {
  // Only these, such as the kernels that exist; the fastest by the cost model is taken, of equals the first.
  std::optional<std::vector<DecodeTile>> tiles = std::nullopt;
  std::optional<int> splits = std::nullopt;  // so many KV splits: 1 to kMaximumDecodeSplits
};

inline constexpr int kMaximumDecodeSplits = 256;

// Pure: the same problem, device and limits give the same plan. invalid_argument for a problem that check()
// refuses, a number of splits out of range, a grid beyond CUDA's limits or a workspace beyond 2^62 bytes;
// unsupported when no tile, or none of those allowed, fits the device's shared memory.
Result<DecodePlan> plan_decode(const DecodeProblem& problem, const DecodeDevice& device,
                               const DecodePlanLimits& limits = {});

// The kernel's specification but for its tile: what every plan of the problem has in common.
KernelSpec decode_specification(const DecodeProblem& problem);

}  // namespace cubinet
