// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_pages.hpp"

#include <cubinet/base/binary_format.hpp>
#include <cubinet/base/byte_stream.hpp>

#include <xxhash.h>

#include <algorithm>
#include <tuple>

namespace cubinet {
namespace {

constexpr std::size_t kCountBytes = 4;
constexpr std::size_t kSlotBytes = 12;  // hash and end of a record's entry
constexpr std::size_t kPairBytes = 16;
constexpr std::size_t kImageBytes = 89;

Error damaged_page(const std::string& reason) {
  return Error{ErrorCode::corruption, "it is damaged: " + reason};
}

// Returns the beginning of the i-th record of a page. For i = count, returns the end of the last.
std::size_t record_begin(ByteView page, std::size_t i) {
  const std::size_t count = integer_at<std::uint32_t>(page, 0);
  return i == 0 ? kCountBytes + count * kSlotBytes
                : integer_at<std::uint32_t>(page, kCountBytes + (i - 1) * kSlotBytes + 8);
}

Bytes join_page(BundleTable table, const std::vector<TableEntry>& entries, std::size_t from, std::size_t to) {
  ByteWriter writer;
  if (table == BundleTable::records) {
    std::size_t end = kCountBytes + (to - from) * kSlotBytes;
    writer.u32(static_cast<std::uint32_t>(to - from));
    for (std::size_t i = from; i < to; ++i) {
      end += entries[i].bytes.size();
      writer.u64(entries[i].number);
      writer.u32(static_cast<std::uint32_t>(end));
    }
  }
  for (std::size_t i = from; i < to; ++i)
    writer.raw(entries[i].bytes);
  return writer.take();
}

Result<void> check_records(ByteView page) {
  const std::size_t count = page.size() < kCountBytes ? 0 : integer_at<std::uint32_t>(page, 0);
  if (count == 0 || count > (page.size() - kCountBytes) / kSlotBytes)
    return damaged_page("its records have no room in it");
  for (std::size_t i = 0; i < count; ++i) {
    if (record_begin(page, i + 1) <= record_begin(page, i) + kImageBytes)
      return damaged_page("its records overlap");
  }
  if (record_begin(page, count) != page.size()) return damaged_page("its records do not fill it");
  return {};
}

}  // namespace

bool is_packed(BundleTable table, BundleProfile profile) {
  return profile != BundleProfile::plain && table == BundleTable::records;
}

std::vector<std::size_t> page_ends(BundleTable table, std::vector<SizedEntry> sizes,
                                   std::uint32_t page_bytes) {
  if (table != BundleTable::records) return cut_pages(sizes, page_bytes);
  for (SizedEntry& size : sizes)
    size.bytes += kSlotBytes;
  return cut_pages(sizes, page_bytes - kCountBytes);
}

std::vector<FilledPage> fill_pages(BundleTable table, const std::vector<TableEntry>& entries,
                                   std::uint32_t page_bytes) {
  std::vector<SizedEntry> sizes;
  sizes.reserve(entries.size());
  for (const TableEntry& entry : entries)
    sizes.push_back({entry.number, entry.bytes.size()});
  std::vector<FilledPage> pages;
  std::size_t from = 0;
  for (const std::size_t to : page_ends(table, std::move(sizes), page_bytes)) {
    pages.push_back({entries[from].number, join_page(table, entries, from, to)});
    from = to;
  }
  return pages;
}

Result<void> check_page(BundleTable table, ByteView page, std::uint64_t first) {
  if (table == BundleTable::records) {
    CUBINET_TRY(check_records(page));
  } else if (page.empty() || page.size() % kPairBytes != 0) {
    return damaged_page("it holds a part of an entry");
  }
  const std::size_t count = entries_of(table, page);
  if (page.size() > kPageBytes && (table != BundleTable::records || count > 1))
    return damaged_page("it holds more than a page");
  if (number_of(table, page, 0) != first) return damaged_page("it begins with another entry");
  for (std::size_t i = 1; i < count; ++i) {
    const std::uint64_t before = number_of(table, page, i - 1);
    const std::uint64_t here = number_of(table, page, i);
    bool ascends = before < here;
    if (before == here) {
      // Records are compared when they are decoded.
      const ByteView a = entry_of(table, page, i - 1);
      const ByteView b = entry_of(table, page, i);
      ascends = table == BundleTable::records || kernel_hash_of(a) < kernel_hash_of(b);
    }
    if (!ascends) return damaged_page("its entries are not in order");
  }
  return {};
}

std::size_t entries_of(BundleTable table, ByteView page) {
  return table == BundleTable::records ? integer_at<std::uint32_t>(page, 0) : page.size() / kPairBytes;
}

std::uint64_t number_of(BundleTable table, ByteView page, std::size_t i) {
  if (table == BundleTable::records) return integer_at<std::uint64_t>(page, kCountBytes + i * kSlotBytes);
  return integer_at<std::uint64_t>(page, i * kPairBytes);
}

ByteView entry_of(BundleTable table, ByteView page, std::size_t i) {
  if (table != BundleTable::records) return page.subspan(i * kPairBytes, kPairBytes);
  return page.subspan(record_begin(page, i), record_begin(page, i + 1) - record_begin(page, i));
}

std::pair<std::size_t, std::size_t> entries_with(BundleTable table, ByteView page, std::uint64_t number) {
  std::size_t from = 0;
  std::size_t behind = entries_of(table, page);
  while (from < behind) {
    const std::size_t middle = from + (behind - from) / 2;
    if (number_of(table, page, middle) < number) {
      from = middle + 1;
    } else {
      behind = middle;
    }
  }
  std::size_t to = from;
  while (to < entries_of(table, page) && number_of(table, page, to) == number)
    ++to;
  return {from, to};
}

bool bundle_order(const CubinRecord& a, const CubinRecord& b) {
  const auto order = [](const CubinRecord& record) {
    return std::tuple<std::uint64_t, const Bytes&, ImageKind, const BuildFingerprint&>(
        record.identity.kernel_hash(), record.identity.encoding(), record.kind, record.fingerprint);
  };
  return order(a) < order(b);
}

std::uint64_t hash_of_name(std::string_view name) {
  return XXH3_64bits(name.data(), name.size());
}

TableEntry encode_pair(std::uint64_t number, std::uint64_t kernel_hash) {
  ByteWriter writer;
  writer.u64(number);
  writer.u64(kernel_hash);
  return {number, writer.take()};
}

std::uint64_t kernel_hash_of(ByteView pair) {
  return integer_at<std::uint64_t>(pair, 8);
}

std::vector<std::string> names_of(const CubinRecord& record) {
  std::vector<std::string> names;
  const bool of_source = record.identity.kernel().maker() == KernelMaker::source;
  for (const EntryPoint& entry : record.entry_points) {
    names.push_back(entry.symbol);
    if (of_source) names.push_back(entry.name);
  }
  if (record.identity.kernel().maker() == KernelMaker::function) {
    const auto decoded = decode_kernel(record.identity.kernel_encoding());
    if (decoded) names.push_back(decoded->name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

TableEntry encode_entry(const CubinRecord& record, const BundleImage& image) {
  ByteWriter writer;
  writer.raw(image.digest.bytes);
  writer.u64(image.frame_offset);
  writer.u32(image.frame_stored);
  writer.u32(image.frame_bytes);
  writer.raw(image.frame_digest.bytes);
  writer.u32(image.offset);
  writer.u32(image.size);
  writer.u8(static_cast<std::uint8_t>(image.codec));
  writer.raw(encode_record(record));
  return {record.identity.kernel_hash(), writer.take()};
}

ByteView record_in(ByteView entry) {
  return entry.subspan(kImageBytes);
}

bool leads_to(ByteView entry, const Sha256Digest& image) {
  return std::equal(image.bytes.begin(), image.bytes.end(), entry.begin());
}

Result<BundleImage> image_in(ByteView entry) {
  ByteReader reader(entry.first(kImageBytes));
  BundleImage image;
  CUBINET_TRY_ASSIGN(image.digest, read_digest(reader));
  CUBINET_TRY_ASSIGN(image.frame_offset, reader.u64());
  CUBINET_TRY_ASSIGN(image.frame_stored, reader.u32());
  CUBINET_TRY_ASSIGN(image.frame_bytes, reader.u32());
  CUBINET_TRY_ASSIGN(image.frame_digest, read_digest(reader));
  CUBINET_TRY_ASSIGN(image.offset, reader.u32());
  CUBINET_TRY_ASSIGN(image.size, reader.u32());
  CUBINET_TRY_ASSIGN(const std::uint8_t codec, reader.u8());
  if (codec > static_cast<std::uint8_t>(FrameCodec::zstd))
    return damaged_page("an image is packed in an unknown way");
  image.codec = static_cast<FrameCodec>(codec);
  const bool in_frame = image.size <= image.frame_bytes && image.offset <= image.frame_bytes - image.size;
  const bool in_limits = image.size > 0 && image.frame_bytes <= kMaximumImageBytes &&
                         image.frame_stored <= image.frame_bytes &&
                         (image.alone() || image.frame_bytes <= kMostBytesOfSharedFrame);
  // A frame that zstd does not make smaller is stored uncompressed.
  const bool packed = image.codec == FrameCodec::zstd;
  if (!in_frame || !in_limits || packed != (image.frame_stored < image.frame_bytes))
    return damaged_page("an image has absurd lengths");
  if (!packed && image.alone() && image.frame_digest != image.digest)
    return damaged_page("an image has two digests");
  return image;
}

}  // namespace cubinet
