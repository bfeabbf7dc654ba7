// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

namespace serving_loop {

using Token = std::int32_t;
using PageIndex = std::int32_t;  // an entry of a page table

// The pages of the KV cache. Sequences share a page by reference counts. A published page is found
// by the tokens that it and the pages before it hold (the prefix cache), and keeps its content
// until it is taken again. Pages without references are taken in the order of their release.
class PagePool {
 public:
  PagePool(std::size_t pages, std::size_t page_tokens);

  std::size_t page_tokens() const { return page_tokens_; }
  // Returns the number of pages without references.
  std::size_t unused() const { return unused_.size(); }

  // Returns the published pages with the first tokens of a sequence, as many as there are, and adds
  // a reference to each. They hold whole pages only.
  std::vector<PageIndex> share(std::span<const Token> tokens);
  // Returns a page with one reference. Its content is no longer found. REQUIRES: unused() is not 0.
  PageIndex take();
  // Publishes a page that is full and will not be written again. `tokens` ends with the page's last
  // token. Does nothing if another page with these tokens is published.
  void publish(PageIndex page, std::span<const Token> tokens);
  // Removes a reference from each page of a sequence, given in the sequence's order.
  void release(std::span<const PageIndex> pages);

 private:
  struct Page {
    std::size_t references = 0;
    std::vector<Token> tokens;  // the key in `published_`; empty: not published
  };
  Page& at(PageIndex page) { return pages_[static_cast<std::size_t>(page)]; }

  std::size_t page_tokens_;
  std::vector<Page> pages_;
  std::deque<PageIndex> unused_;
  // A server would use a hash of the tokens.
  std::map<std::vector<Token>, PageIndex> published_;
};

}  // namespace serving_loop
