// SPDX-License-Identifier: Apache-2.0
#include "bundle/page_cache.hpp"

#include <doctest/doctest.h>

namespace cubinet::test {
namespace {

std::shared_ptr<const Bytes> page_of(std::size_t bytes) {
  return std::make_shared<const Bytes>(bytes);
}

TEST_CASE("a page that was kept is found, under its table and its number alone") {
  PageCache cache;
  const auto page = page_of(10);
  cache.keep(BundleTable::keys, 3, page);
  CHECK(cache.find(BundleTable::keys, 3) == page);
  CHECK(cache.find(BundleTable::names, 3) == nullptr);
  CHECK(cache.find(BundleTable::keys, 4) == nullptr);
  cache.keep(BundleTable::keys, 3, page_of(10));
  CHECK(cache.find(BundleTable::keys, 3) == page);
}

TEST_CASE("the page that was not asked for longest goes first") {
  PageCache cache;
  for (std::size_t i = 0; i < PageCache::kMostPages; ++i)
    cache.keep(BundleTable::images, i, page_of(10));
  CHECK(cache.find(BundleTable::images, 0) != nullptr);
  cache.keep(BundleTable::images, 1000, page_of(10));
  CHECK(cache.find(BundleTable::images, 0) != nullptr);
  CHECK(cache.find(BundleTable::images, 1) == nullptr);
  CHECK(cache.find(BundleTable::images, 2) != nullptr);
}

TEST_CASE("what is kept is bounded in bytes, and one page is always kept") {
  PageCache cache;
  cache.keep(BundleTable::records, 0, page_of(PageCache::kMostBytes / 2));
  cache.keep(BundleTable::records, 1, page_of(PageCache::kMostBytes));
  CHECK(cache.find(BundleTable::records, 0) == nullptr);
  CHECK(cache.find(BundleTable::records, 1) != nullptr);
  cache.keep(BundleTable::records, 2, page_of(2 * PageCache::kMostBytes));
  CHECK(cache.find(BundleTable::records, 1) == nullptr);
  CHECK(cache.find(BundleTable::records, 2) != nullptr);
}

}  // namespace
}  // namespace cubinet::test
