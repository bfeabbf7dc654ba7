// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_pages.hpp"

#include "cubin_registry/bundle_fixture.hpp"

#include <limits>

namespace cubinet::test {
namespace {

std::vector<TableEntry> entries_of_sizes(const std::vector<std::pair<std::uint64_t, std::size_t>>& sizes) {
  std::vector<TableEntry> entries;
  for (const auto& [number, size] : sizes)
    entries.push_back({number, Bytes(size, static_cast<std::byte>(number))});
  return entries;
}

TEST_CASE("pages are filled until the next record has no room, and are found again by number") {
  const auto entries = entries_of_sizes({{1, 100}, {2, 110}, {2, 120}, {5, 150}, {9, 91}});
  const auto pages = fill_pages(BundleTable::records, entries, 400);
  REQUIRE(pages.size() == 2);
  CHECK(pages[1].first == 5);
  std::size_t seen = 0;
  for (const FilledPage& page : pages) {
    REQUIRE(check_page(BundleTable::records, page.bytes, page.first));
    CHECK(page.bytes.size() <= 400);
    for (std::size_t i = 0; i < entries_of(BundleTable::records, page.bytes); ++i, ++seen) {
      const ByteView entry = entry_of(BundleTable::records, page.bytes, i);
      CHECK(number_of(BundleTable::records, page.bytes, i) == entries[seen].number);
      CHECK(std::equal(entry.begin(), entry.end(), entries[seen].bytes.begin(), entries[seen].bytes.end()));
    }
  }
  CHECK(seen == entries.size());
  const auto with = [&](std::uint64_t number) {
    return entries_with(BundleTable::records, pages[0].bytes, number);
  };
  CHECK(with(0) == std::pair<std::size_t, std::size_t>(0, 0));
  CHECK(with(2) == std::pair<std::size_t, std::size_t>(1, 3));
  CHECK(with(7) == std::pair<std::size_t, std::size_t>(3, 3));
}

TEST_CASE("a page of records whose ends lie about it is damaged, and never read beyond") {
  const Bytes page = fill_pages(BundleTable::records, entries_of_sizes({{1, 90}, {2, 90}}), 256)[0].bytes;
  REQUIRE(check_page(BundleTable::records, page, 1));
  CHECK_FALSE(check_page(BundleTable::records, page, 2));
  for (std::size_t i = 0; i < 28; ++i) {
    for (const unsigned bit : {0U, 7U}) {
      Bytes damaged = page;
      damaged[i] ^= static_cast<std::byte>(1U << bit);
      const auto checked =
          check_page(BundleTable::records, damaged, number_of(BundleTable::records, page, 0));
      // The page check accepts a changed hash that still ascends, and a changed border between
      // records. The decoder of the record compares both.
      const bool second_hash = i >= 16 && i < 24;
      const bool where_they_meet = i == 12 && bit == 0;
      if (!second_hash && !where_they_meet) CHECK_FALSE(checked);
    }
  }
  for (std::size_t size = 0; size < page.size(); ++size)
    CHECK_FALSE(check_page(BundleTable::records, ByteView(page).first(size), 1));
}

TEST_CASE("keys and names ascend, and none stands twice") {
  const auto page = [](const std::vector<std::pair<std::uint64_t, std::uint64_t>>& pairs) {
    std::vector<TableEntry> entries;
    for (const auto& [number, hash] : pairs)
      entries.push_back(encode_pair(number, hash));
    return fill_pages(BundleTable::keys, entries, 4096)[0].bytes;
  };
  const Bytes good = page({{1, 9}, {1, 10}, {3, 1}});
  CHECK(check_page(BundleTable::keys, good, 1));
  CHECK(kernel_hash_of(entry_of(BundleTable::keys, good, 1)) == 10);
  CHECK(entries_with(BundleTable::keys, good, 1) == std::pair<std::size_t, std::size_t>(0, 2));
  CHECK_FALSE(check_page(BundleTable::keys, page({{1, 9}, {1, 9}}), 1));
  CHECK_FALSE(check_page(BundleTable::keys, page({{1, 9}, {1, 8}}), 1));
  CHECK_FALSE(check_page(BundleTable::keys, page({{2, 9}, {1, 10}}), 2));
  CHECK_FALSE(check_page(BundleTable::keys, ByteView(good).first(20), 1));
  CHECK_FALSE(check_page(BundleTable::keys, {}, 0));
  Bytes large;
  for (std::uint64_t i = 0; i < kPageBytes / 16; ++i) {
    const Bytes pair = encode_pair(1, i).bytes;
    large.insert(large.end(), pair.begin(), pair.end());
  }
  CHECK(check_page(BundleTable::keys, large, 1));
  const Bytes last = encode_pair(2, 0).bytes;
  large.insert(large.end(), last.begin(), last.end());
  CHECK_FALSE(check_page(BundleTable::keys, large, 1));
}

TEST_CASE("the place of an image is read as it was written, and refused where it makes no sense") {
  BundleImage image;
  image.digest = sha256(as_bytes("image"));
  image.frame_digest = sha256(as_bytes("frame"));
  image.frame_offset = 640;
  image.frame_stored = 10;
  image.frame_bytes = 100;
  image.offset = 40;
  image.size = 60;
  image.codec = FrameCodec::zstd;
  const CubinRecord record = *cubin_of(1).record;
  const TableEntry entry = encode_entry(record, image);
  CHECK(entry.number == record.identity.kernel_hash());
  CHECK(*decode_record(record_in(entry.bytes)) == record);
  CHECK(leads_to(entry.bytes, image.digest));
  CHECK_FALSE(leads_to(entry.bytes, image.frame_digest));
  const auto decoded = image_in(entry.bytes);
  REQUIRE(decoded);
  CHECK(decoded->digest == image.digest);
  CHECK(decoded->frame_digest == image.frame_digest);
  CHECK(decoded->frame_offset == 640);
  CHECK(decoded->offset == 40);
  CHECK_FALSE(decoded->alone());
  const auto refused = [&](auto member, std::uint32_t value) {
    BundleImage changed = image;
    changed.*member = value;
    return !image_in(encode_entry(record, changed).bytes);
  };
  CHECK(refused(&BundleImage::offset, 41));
  CHECK(refused(&BundleImage::size, 61));
  CHECK(refused(&BundleImage::size, std::numeric_limits<std::uint32_t>::max()));
  CHECK(refused(&BundleImage::frame_stored, 101));
  CHECK(refused(&BundleImage::frame_bytes, (64U << 20) + 1));
  CHECK(refused(&BundleImage::frame_stored, 100));
  CHECK(refused(&BundleImage::size, 0));
  BundleImage shared = image;
  shared.frame_bytes = kMostBytesOfSharedFrame;
  CHECK(image_in(encode_entry(record, shared).bytes));
  ++shared.frame_bytes;
  CHECK_FALSE(image_in(encode_entry(record, shared).bytes));
  BundleImage alone = image;
  alone.codec = FrameCodec::plain;
  alone.offset = 0;
  alone.size = alone.frame_stored = alone.frame_bytes;
  CHECK_FALSE(image_in(encode_entry(record, alone).bytes));
  alone.frame_digest = alone.digest;
  CHECK(image_in(encode_entry(record, alone).bytes));
  BundleImage plain = image;
  plain.codec = FrameCodec::plain;
  CHECK_FALSE(image_in(encode_entry(record, plain).bytes));
  plain.frame_stored = 100;
  CHECK(image_in(encode_entry(record, plain).bytes));
  Bytes unknown = entry.bytes;
  unknown[88] = std::byte{2};
  CHECK_FALSE(image_in(unknown));
}

TEST_CASE("a record is found by its functions, and by what the kernel of a function is called") {
  CubinRecord record = *cubin_of(1).record;
  CHECK(names_of(record) == std::vector<std::string>{record.entry_points.front().symbol});
  KernelSpec spec;
  spec.name = "gemm";
  spec.maker = KernelMaker::function;
  record.identity = identify(spec, record.target);
  CHECK(names_of(record) == std::vector<std::string>{"gemm", record.entry_points.front().symbol});
  record.entry_points.front().symbol = "gemm";
  CHECK(names_of(record) == std::vector<std::string>{"gemm"});
}

}  // namespace
}  // namespace cubinet::test
