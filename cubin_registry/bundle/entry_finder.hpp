// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bundle/bundle_pack.hpp"

#include <cubinet/base/callback.hpp>

#include <cstdint>
#include <vector>

namespace cubinet {

// Finds entries by number in one table of a bundle. Holds one branch and one page at a time, so
// each is read once if the numbers ascend. Not thread-safe. The pack must outlive it.
class EntryFinder {
 public:
  EntryFinder(const BundlePack& pack, BundleTable table) : pack_(pack), table_(table) {}

  // Calls `give` with each entry of the number. Stops at the first error of the bundle or of
  // `give`.
  using Give = Callback<Result<void>(ByteView entry)>;
  Result<void> each(std::uint64_t number, const Give& give);

 private:
  Result<void> each_of_branch(const BundlePage& branch, std::uint64_t number, const Give& give);

  const BundlePack& pack_;
  const BundleTable table_;
  // 0 means none, because the root is stored at that offset.
  std::uint64_t branch_offset_ = 0;
  std::vector<BundlePage> pages_;
  std::uint64_t page_offset_ = 0;
  BundlePack::Page page_;
};

}  // namespace cubinet
