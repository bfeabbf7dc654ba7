// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_table/kernel_row.hpp>
#include <cubinet/kernel_table/row_codec.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cubinet {

// Rows with shared ownership, so that indexing a table copies no rows. No pointer is null.
using KernelRows = std::vector<std::shared_ptr<const KernelRow>>;

// An index by selector of the rows of a table that run on one device. Immutable and thread-safe.
// Keeps the rows alive. A look-up hashes 40 bytes, reads one cache line of the table and compares
// the full encoding.
class KernelIndex {
 public:
  // Builds an index. Rows whose target does not run on the device, rows with an extra column that
  // is on, and all of `unusable` are never found. They are counted, and rows() includes them for
  // explanations. The order of `rows` does not affect the result. REQUIRES: one row per kernel, as
  // from Runtime::rows().
  static KernelIndex build(KernelRows rows, ComputeCapability device, KernelRows unusable = {});

  // Returns the rows of a selector, or none. They are ordered by target, best first: specific,
  // family (nearest minor), baseline (nearest minor). Kernels that differ in traits follow by
  // decreasing step.
  std::span<const std::uint32_t> find(const KernelSelector& selector) const {
    return find(encode_selector(selector));
  }
  std::span<const std::uint32_t> find(const SelectorEncoding& encoding) const;

  const KernelRow& row(std::uint32_t number) const { return *rows_[number]; }
  const KernelRows& rows() const { return rows_; }
  ComputeCapability device() const { return device_; }

  // The number of specifications (rows without their targets) that the device can use, by the kind
  // of the best target.
  struct Usage {
    std::size_t usable = 0;
    std::size_t specific = 0;
    std::size_t family = 0;
    std::size_t baseline = 0;
    std::size_t other_targets = 0;  // rows that do not run on the device
    std::size_t refused = 0;        // `unusable` rows that would run on the device
    // Rows that would run but have an unknown column that is on.
    std::size_t not_understood = 0;
    std::vector<std::string> unknown_columns{};  // the names of those columns, ascending

    // Returns "2340 rows passed over, with a variant on that this version does not know (mFuture)",
    // or an empty text if every row that would run is understood. Explanations that report no
    // kernel must include it to be correct.
    std::string passed_over() const;
  };
  const Usage& usage() const { return usage_; }

  // Returns every row in the index, ascending by selector. Used by explanations, which examine all
  // rows.
  std::span<const std::uint32_t> numbers() const { return numbers_; }

 private:
  struct alignas(64) Slot {
    SelectorEncoding encoding{};
    std::uint32_t first = 0;  // index into numbers_
    std::uint32_t count = 0;  // 0: the slot is free
  };

  void insert(const SelectorEncoding& encoding, std::uint32_t first, std::uint32_t count);
  void count_usage(std::uint32_t first, std::uint32_t count);

  KernelRows rows_;
  ComputeCapability device_;
  std::vector<Slot> slots_;  // a power of two, open addressing
  std::vector<std::uint32_t> numbers_;
  Usage usage_;
};

}  // namespace cubinet
