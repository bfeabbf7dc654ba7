// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_branches.hpp"

#include <doctest/doctest.h>

#include <functional>

namespace cubinet::test {
namespace {

using Ends = std::vector<std::size_t>;

// One behind the other, from where pages begin.
std::vector<BundlePage> pages_of(const std::vector<std::uint64_t>& firsts) {
  std::vector<BundlePage> pages;
  for (const std::uint64_t first : firsts) {
    const std::uint64_t offset = pages.empty() ? 0 : pages.back().offset + pages.back().stored;
    pages.push_back({first, static_cast<std::uint32_t>(100 + pages.size()), sha256({}), offset});
  }
  return pages;
}

TEST_CASE("entries of one number lie on one page unless they begin it and have no room there") {
  const auto cut = [](const std::vector<SizedEntry>& entries) { return cut_pages(entries, 10); };
  CHECK(cut({}).empty());
  CHECK(cut({{1, 4}, {2, 4}, {3, 4}}) == Ends{2, 3});
  CHECK(cut({{1, 4}, {2, 4}, {2, 4}, {3, 2}}) == Ends{1, 4});
  CHECK(cut({{1, 4}, {2, 4}, {2, 4}, {2, 4}, {3, 4}}) == Ends{1, 3, 5});
  CHECK(cut({{1, 11}, {2, 4}}) == Ends{1, 2});
  CHECK(cut({{1, 4}, {2, 11}, {3, 4}}) == Ends{1, 2, 3});
  CHECK(cut({{1, 10}}) == Ends{1});
}

TEST_CASE("the pages that can hold a number are one, or those that begin with it") {
  const auto pages = pages_of({10, 20, 20, 30});
  const auto with = [&](std::uint64_t number) { return pages_with(pages, number); };
  using Range = std::pair<std::size_t, std::size_t>;
  CHECK(with(9) == Range{0, 0});
  CHECK(with(10) == Range{0, 1});
  CHECK(with(15) == Range{0, 1});
  CHECK(with(20) == Range{1, 3});
  CHECK(with(25) == Range{2, 3});
  CHECK(with(99) == Range{3, 4});
  CHECK(pages_with({}, 1) == Range{0, 0});
}

TEST_CASE("a branch is read as it was written, and says where its pages lie") {
  const auto pages = pages_of({10, 20, 20, 30});
  const auto read = decode_branch(encode_branch(std::span(pages).subspan(1)), 1000, 1000, kMaximumPageBytes);
  REQUIRE(read);
  REQUIRE(read->size() == 3);
  CHECK((*read)[0].offset == 1100);
  CHECK((*read)[2].offset == 1100 + 101 + 102);
  CHECK((*read)[2].first == 30);
  CHECK((*read)[2].digest == pages[3].digest);
}

TEST_CASE("a branch that leads nowhere, or whose pages do not ascend, is damaged") {
  const auto refused = [](const std::function<void(std::vector<BundlePage>&)>& change,
                          std::uint64_t pages_bytes = 203) {
    auto pages = pages_of({10, 20});
    change(pages);
    const auto read = decode_branch(encode_branch(pages), 64, pages_bytes, kMaximumPageBytes);
    return !read && read.error().code == ErrorCode::corruption;
  };
  CHECK_FALSE(refused([](auto&) {}, 201));
  CHECK(refused([](auto&) {}, 200));
  CHECK(refused([](auto& pages) { std::swap(pages[0].first, pages[1].first); }));
  CHECK(refused([](auto& pages) { pages[1].stored = 0; }));
  CHECK(refused([](auto& pages) { pages[1].stored = kMaximumPageBytes + 1; }));
  CHECK(refused([](auto& pages) { pages[0].offset = 3; }));
  CHECK(refused([](auto& pages) { pages[0].offset = ~std::uint64_t{0}; }));
  const Bytes whole = encode_branch(pages_of({10, 20}));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto read = decode_branch(ByteView(whole).first(size), 0, 1000, kMaximumPageBytes);
    CHECK(read.has_value() == (size == 8 + kPageEntryBytes));
  }
}

}  // namespace
}  // namespace cubinet::test
