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

// Shared with whoever has them: a table is indexed without a copy of its rows. None is null.
using KernelRows = std::vector<std::shared_ptr<const KernelRow>>;

// The rows of a table that run on one device, found by selector. Immutable; may be used by any number of
// threads. Keeps the rows alive. A look-up hashes 40 bytes, reads one cache line of the table and compares
// the full encoding.
class KernelIndex {
 public:
  // REQUIRES: one row a kernel, as Runtime::rows() gives them. Rows whose target does not run on the device,
  // rows with an extra column that is on and all of `unusable` are never found, but counted: rows() has them
  // for explanations. The order of `rows` has no influence on what is found.
  static KernelIndex build(KernelRows rows, ComputeCapability device, KernelRows unusable = {});

  // The rows of a selector, best first: specific target, family (nearest minor), baseline (nearest minor);
  // then, for kernels that differ in traits, the larger steps. Empty when there is none.
  std::span<const std::uint32_t> find(const KernelSelector& selector) const {
    return find(encode_selector(selector));
  }
  std::span<const std::uint32_t> find(const SelectorEncoding& encoding) const;

  const KernelRow& row(std::uint32_t number) const { return *rows_[number]; }
  const KernelRows& rows() const { return rows_; }
  ComputeCapability device() const { return device_; }

  // Specifications (rows less their targets) that the device can use, by the kind of the best target.
  struct Usage {
    std::size_t usable = 0;
    std::size_t specific = 0;
    std::size_t family = 0;
    std::size_t baseline = 0;
    std::size_t other_targets = 0;               // rows that do not run on the device
    std::size_t refused = 0;                     // `unusable` rows that would run on the device
    std::size_t not_understood = 0;              // rows that would run but have an unknown column that is on
    std::vector<std::string> unknown_columns{};  // the names of those columns, ascending

    // "2340 rows passed over, with a variant on that this version does not know (mFuture)"; empty where
    // every row that would run is understood. An answer of "none" without it would not be true.
    std::string passed_over() const;
  };
  const Usage& usage() const { return usage_; }

  // Every row in the index, ascending by selector; for explanations, which look at all of them.
  std::span<const std::uint32_t> numbers() const { return numbers_; }

 private:
  struct alignas(64) Slot {
    SelectorEncoding encoding{};
    std::uint32_t first = 0;  // of numbers_
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
