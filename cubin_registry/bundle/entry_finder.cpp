// SPDX-License-Identifier: Apache-2.0
#include "bundle/entry_finder.hpp"

namespace cubinet {

Result<void> EntryFinder::each_of_branch(const BundlePage& branch, std::uint64_t number, const Give& give) {
  if (branch_offset_ != branch.offset) {
    CUBINET_TRY_ASSIGN(pages_, pack_.pages_of(table_, branch));
    branch_offset_ = branch.offset;
  }
  const auto [first, behind] = pages_with(pages_, number);
  for (std::size_t i = first; i < behind; ++i) {
    if (page_offset_ != pages_[i].offset) {
      page_.reset();
      page_offset_ = 0;
      CUBINET_TRY_ASSIGN(page_, pack_.page(table_, pages_[i]));
      page_offset_ = pages_[i].offset;
    }
    const auto [from, to] = entries_with(table_, *page_, number);
    for (std::size_t entry = from; entry < to; ++entry)
      CUBINET_TRY(give(entry_of(table_, *page_, entry)));
  }
  return {};
}

Result<void> EntryFinder::each(std::uint64_t number, const Give& give) {
  const std::vector<BundlePage>& branches = pack_.map().branches_of(table_);
  const auto [first, behind] = pages_with(branches, number);
  for (std::size_t i = first; i < behind; ++i)
    CUBINET_TRY(each_of_branch(branches[i], number, give));
  return {};
}

}  // namespace cubinet
