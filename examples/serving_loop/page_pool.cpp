// SPDX-License-Identifier: Apache-2.0
#include "page_pool.hpp"

#include <algorithm>
#include <numeric>

namespace serving_loop {

PagePool::PagePool(std::size_t pages, std::size_t page_tokens)
    : page_tokens_(page_tokens), pages_(pages), unused_(pages) {
  std::iota(unused_.begin(), unused_.end(), 0);
}

std::vector<PageIndex> PagePool::share(std::span<const Token> tokens) {
  std::vector<PageIndex> shared;
  for (std::size_t end = page_tokens_; end <= tokens.size(); end += page_tokens_) {
    const auto found = published_.find(std::vector(tokens.begin(), tokens.begin() + static_cast<long>(end)));
    if (found == published_.end()) break;
    if (at(found->second).references++ == 0) std::erase(unused_, found->second);
    shared.push_back(found->second);
  }
  return shared;
}

PageIndex PagePool::take() {
  const PageIndex page = unused_.front();
  unused_.pop_front();
  at(page).references = 1;
  if (!at(page).tokens.empty()) published_.erase(at(page).tokens);
  at(page).tokens.clear();
  return page;
}

void PagePool::publish(PageIndex page, std::span<const Token> tokens) {
  std::vector<Token> key(tokens.begin(), tokens.end());
  if (published_.emplace(key, page).second) at(page).tokens = std::move(key);
}

void PagePool::release(std::span<const PageIndex> pages) {
  // The last page first, because share() does not find a page whose predecessor was taken.
  for (std::size_t i = pages.size(); i-- != 0;)
    if (--at(pages[i]).references == 0) unused_.push_back(pages[i]);
}

}  // namespace serving_loop
