// SPDX-License-Identifier: Apache-2.0
#include "bundle/entry_finder.hpp"

#include "cubin_registry/bundle_fixture.hpp"
#include "cubin_registry/forged_bundle.hpp"

namespace cubinet::test {
namespace {

// A table of keys on pages of four entries, of which each number has two, and its branches of three
// pages.
struct FinderFixture {
  std::shared_ptr<MemorySource> source;
  std::shared_ptr<const BundlePack> pack;

  explicit FinderFixture(std::uint64_t numbers) {
    ForgedBundle forged(BundleProfile::plain);
    std::vector<BundlePage> pages;
    for (std::uint64_t number = 1; number <= numbers; number += 2) {
      std::vector<TableEntry> entries;
      for (std::uint64_t i = 0; i < 4; ++i)
        entries.push_back(encode_pair(10 * (number + i / 2), i % 2));
      const FilledPage page = fill_pages(BundleTable::keys, entries, kPageBytes).front();
      pages.push_back(forged.add_page(page.first, page.bytes));
    }
    for (std::size_t from = 0; from < pages.size(); from += 3)
      forged.add_branch(BundleTable::keys,
                        std::span(pages).subspan(from, std::min<std::size_t>(3, pages.size() - from)));
    source = std::make_shared<MemorySource>(forged.write());
    pack = ok(BundlePack::open(source));
    source->take_reads();
  }
};

TEST_CASE("a finder gives each entry of a number, and none of a number that is not there") {
  const FinderFixture fixture(20);
  EntryFinder finder(*fixture.pack, BundleTable::keys);
  const auto found = [&](std::uint64_t number) {
    std::vector<std::uint64_t> hashes;
    CHECK(finder.each(number, [&](ByteView entry) -> Result<void> {
      hashes.push_back(kernel_hash_of(entry));
      return {};
    }));
    return hashes;
  };
  CHECK(found(10) == std::vector<std::uint64_t>{0, 1});
  CHECK(found(200) == std::vector<std::uint64_t>{0, 1});
  CHECK(found(70) == std::vector<std::uint64_t>{0, 1});
  CHECK(found(75).empty());
  CHECK(found(9999).empty());
}

TEST_CASE("a number before the first entry needs no page to be read") {
  const FinderFixture fixture(4);
  EntryFinder finder(*fixture.pack, BundleTable::keys);
  CHECK(finder.each(0, [](ByteView) -> Result<void> { return {}; }));
  CHECK(fixture.source->take_reads().empty());
}

TEST_CASE("numbers that ascend have each branch and each page read once, and an error ends a lookup") {
  const FinderFixture fixture(1000);
  EntryFinder finder(*fixture.pack, BundleTable::keys);
  std::size_t entries = 0;
  for (std::uint64_t number = 10; number <= 10'000; number += 5) {
    REQUIRE(finder.each(number, [&](ByteView) -> Result<void> {
      ++entries;
      return {};
    }));
  }
  CHECK(entries == 2000);
  CHECK(fixture.source->take_reads().size() == 500 + 167);
  const auto ended = finder.each(10, [](ByteView) { return Result<void>(Error{ErrorCode::io, "enough"}); });
  CHECK(ended.error().code == ErrorCode::io);
}

}  // namespace
}  // namespace cubinet::test
