// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_branches.hpp"

#include <cubinet/base/binary_format.hpp>

#include <algorithm>

namespace cubinet {
namespace {

Error damaged_list(const std::string& reason) {
  return Error{ErrorCode::corruption, reason};
}

}  // namespace

void write_pages(ByteWriter& writer, std::span<const BundlePage> pages) {
  for (const BundlePage& page : pages) {
    writer.u64(page.first);
    writer.u32(page.stored);
    writer.raw(page.digest.bytes);
  }
}

Result<std::vector<BundlePage>> read_pages(ByteView bytes, std::uint64_t offset, std::uint32_t most) {
  std::vector<BundlePage> pages;
  pages.reserve(bytes.size() / kPageEntryBytes);
  ByteReader reader(bytes);
  while (reader.remaining() > 0) {
    BundlePage& page = pages.emplace_back();
    CUBINET_TRY_ASSIGN(page.first, reader.u64());
    CUBINET_TRY_ASSIGN(page.stored, reader.u32());
    CUBINET_TRY_ASSIGN(page.digest, read_digest(reader));
    if (page.stored == 0 || page.stored > most) return damaged_list("a page has an absurd length");
    if (pages.size() > 1 && page.first < pages[pages.size() - 2].first)
      return damaged_list("its pages are not in order");
    page.offset = offset;
    offset += page.stored;
  }
  return pages;
}

std::vector<std::size_t> cut_pages(std::span<const SizedEntry> entries, std::size_t limit) {
  std::vector<std::size_t> ends;
  for (std::size_t from = 0; from < entries.size(); from = ends.back()) {
    std::size_t to = from;  // behind the last run that fits
    std::size_t size = 0;
    for (std::size_t i = from; i < entries.size(); ++i) {
      size += entries[i].bytes;
      if (size > limit) {
        if (to == from) to = std::max(i, from + 1);
        break;
      }
      if (i + 1 == entries.size() || entries[i + 1].number != entries[i].number) to = i + 1;
    }
    ends.push_back(to);
  }
  return ends;
}

std::pair<std::size_t, std::size_t> pages_with(std::span<const BundlePage> pages, std::uint64_t number) {
  const auto from = std::partition_point(pages.begin(), pages.end(),
                                         [&](const BundlePage& page) { return page.first < number; });
  const auto to =
      std::partition_point(from, pages.end(), [&](const BundlePage& page) { return page.first == number; });
  const auto begin = static_cast<std::size_t>(from - pages.begin());
  if (from != to) return {begin, static_cast<std::size_t>(to - pages.begin())};
  return {begin - (begin > 0 ? 1 : 0), begin};
}

Bytes encode_branch(std::span<const BundlePage> pages) {
  ByteWriter writer;
  writer.u64(pages.front().offset);
  write_pages(writer, pages);
  return writer.take();
}

Result<std::vector<BundlePage>> decode_branch(ByteView branch, std::uint64_t pages_offset,
                                              std::uint64_t pages_bytes, std::uint32_t most) {
  ByteReader reader(branch);
  CUBINET_TRY_ASSIGN(const std::uint64_t offset, reader.u64());
  if (offset > pages_bytes || reader.remaining() == 0 || reader.remaining() % kPageEntryBytes != 0)
    return damaged_list("it leads to no whole pages");
  CUBINET_TRY_ASSIGN(const ByteView list, reader.raw(reader.remaining()));
  CUBINET_TRY_ASSIGN(std::vector<BundlePage> pages, read_pages(list, pages_offset + offset, most));
  if (pages.back().offset + pages.back().stored > pages_offset + pages_bytes)
    return damaged_list("it leads to pages behind their end");
  return pages;
}

}  // namespace cubinet
