// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "candidate_shapes.hpp"

#include <cubinet/kernel_table/kernel_row.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cubinet {

// At most two values, the preferred one first.
template <class Value>
struct Choices {
  std::array<Value, 2> values{};
  std::size_t count = 0;

  void add(Value value) { values[count++] = value; }
  const Value* begin() const { return values.data(); }
  const Value* end() const { return values.data() + count; }
};

// A candidate kernel: everything that the problem does not fix.
struct KernelState {
  Shape shape;
  std::uint16_t tile_size_kv = 128;
  MultiCtasKvMode mode = MultiCtasKvMode::disabled;
  TileScheduler scheduler = TileScheduler::static_grid;
  // If false, the splits of this state are not combined in a cluster.
  bool may_cluster = true;
};

// The columns in which rows may differ and still serve the same problem in the same state.
struct RowEncoding {
  bool groups_tokens_heads_q = false;
  std::uint32_t tokens_per_page = 0;
  bool dynamic_page = false;
  AttentionMask mask = AttentionMask::dense;
};

// The rows that serve a problem. Page, mask and grouping are fixed before the first lookup, so all
// candidates and passes look up the values that are launched in the end. Does not own the problem.
class WantedRows {
 public:
  WantedRows(const AttentionProblem& problem, const SelectionRules& rules);

  // Returns at least one, the preferred one first.
  std::span<const RowEncoding> encodings() const { return {encodings_.data(), count_}; }
  KernelSelector selector(const KernelState& state, const RowEncoding& encoding) const;
  KernelSelector preferred(const KernelState& state) const { return selector(state, encodings_[0]); }

 private:
  const AttentionProblem& problem_;
  std::array<RowEncoding, 8> encodings_{};
  std::size_t count_ = 0;
};

}  // namespace cubinet
