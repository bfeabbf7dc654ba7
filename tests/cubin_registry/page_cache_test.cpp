// SPDX-License-Identifier: Apache-2.0
#include "bundle/page_cache.hpp"

#include <doctest/doctest.h>

namespace cubinet::test {
namespace {

std::shared_ptr<const Bytes> page_of(std::size_t bytes) {
  return std::make_shared<const Bytes>(bytes);
}

TEST_CASE("a page that was kept is found, where it lies and nowhere else") {
  PageCache cache;
  const auto page = page_of(10);
  cache.keep(3, page);
  CHECK(cache.find(3) == page);
  CHECK(cache.find(5) == nullptr);
  CHECK(cache.find(4) == nullptr);
  cache.keep(3, page_of(10));
  CHECK(cache.find(3) == page);
}

TEST_CASE("the page that was not asked for longest goes first") {
  PageCache cache;
  for (std::size_t i = 0; i < PageCache::kMostPages; ++i)
    cache.keep(i, page_of(10));
  CHECK(cache.find(0) != nullptr);
  cache.keep(1000, page_of(10));
  CHECK(cache.find(0) != nullptr);
  CHECK(cache.find(1) == nullptr);
  CHECK(cache.find(2) != nullptr);
}

TEST_CASE("what is kept is bounded in bytes, and one page is always kept") {
  PageCache cache;
  cache.keep(0, page_of(PageCache::kMostBytes / 2));
  cache.keep(1, page_of(PageCache::kMostBytes));
  CHECK(cache.find(0) == nullptr);
  CHECK(cache.find(1) != nullptr);
  cache.keep(2, page_of(2 * PageCache::kMostBytes));
  CHECK(cache.find(1) == nullptr);
  CHECK(cache.find(2) != nullptr);
}

}  // namespace
}  // namespace cubinet::test
