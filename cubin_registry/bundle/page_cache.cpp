// SPDX-License-Identifier: Apache-2.0
#include "bundle/page_cache.hpp"

#include <algorithm>

namespace cubinet {

std::shared_ptr<const Bytes> PageCache::find(std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  const auto kept =
      std::find_if(pages_.begin(), pages_.end(), [&](const Kept& each) { return each.offset == offset; });
  if (kept == pages_.end()) return nullptr;
  pages_.splice(pages_.begin(), pages_, kept);
  return kept->page;
}

void PageCache::keep(std::uint64_t offset, std::shared_ptr<const Bytes> page) {
  const std::lock_guard lock(mutex_);
  // Two threads may have read it.
  const bool there =
      std::any_of(pages_.begin(), pages_.end(), [&](const Kept& each) { return each.offset == offset; });
  if (there) return;
  bytes_ += page->size();
  pages_.push_front({offset, std::move(page)});
  while (pages_.size() > kMostPages || (bytes_ > kMostBytes && pages_.size() > 1)) {
    bytes_ -= pages_.back().page->size();
    pages_.pop_back();
  }
}

}  // namespace cubinet
