// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_pack.hpp"

#include <algorithm>
#include <string>

namespace cubinet {
namespace {

const char* name_of(BundleTable table) {
  switch (table) {
    case BundleTable::records:
      return "records";
    case BundleTable::keys:
      return "keys";
    case BundleTable::names:
      return "names";
    case BundleTable::images:
      break;
  }
  return "images";
}

Error in_page(Error error, BundleTable table, std::size_t index) {
  error.message = "page " + std::to_string(index) + " of its " + name_of(table) + ": " + error.message;
  return error;
}

Error damaged_part(const std::string& reason) {
  return Error{ErrorCode::corruption, reason};
}

}  // namespace

Result<std::shared_ptr<const BundlePack>> BundlePack::open(std::shared_ptr<const ByteSource> source,
                                                           const RootCheck& check) {
  CUBINET_TRY_ASSIGN(Bytes bytes, source->read_root());
  if (check) {
    // What is no bundle says so below.
    if (const auto count = root_bytes_of(bytes)) {
      CUBINET_TRY(check(ByteView(bytes).first(static_cast<std::size_t>(*count))));
    }
  }
  auto map = decode_root(bytes);
  if (!map) {
    Error error = std::move(map).error();
    error.message += " ('" + source->place() + "')";
    if (error.remedy.empty()) error.remedy = "fetch or create the bundle again";
    return error;
  }
  bytes.resize(static_cast<std::size_t>(map->root_bytes));
  bytes.shrink_to_fit();
  return std::make_shared<const BundlePack>(std::move(source), *std::move(map), std::move(bytes));
}

Error BundlePack::at_place(Error error) const {
  error.message = "bundle '" + source_->place() + "': " + error.message;
  if (error.remedy.empty() && error.code == ErrorCode::corruption)
    error.remedy = "fetch or create the bundle again";
  return error;
}

Result<Bytes> BundlePack::read_exactly(const BytePart& part) const {
  CUBINET_TRY_ASSIGN(Bytes bytes, source_->read_part(part));
  if (bytes.size() != part.count) return damaged_part("the bundle ends before it does");
  return bytes;
}

Result<BundlePack::Page> BundlePack::read_page(BundleTable table, std::size_t index) const {
  const BundlePage& page = map_.pages(table)[index];
  const auto read = [&]() -> Result<Page> {
    CUBINET_TRY_ASSIGN(Bytes bytes, read_exactly({page.offset, page.stored, page.digest}));
    if (sha256(bytes) != page.digest) return damaged_part("its SHA-256 is another");
    if (is_packed(table, map_.root.options.profile)) {
      CUBINET_TRY_ASSIGN(bytes, unpack_zstd_within(bytes, map_.page_bytes));
    }
    CUBINET_TRY(check_page(table, bytes, page.first));
    return std::make_shared<const Bytes>(std::move(bytes));
  };
  auto result = read();
  if (!result) return at_place(in_page(std::move(result).error(), table, index));
  return result;
}

Result<BundlePack::Page> BundlePack::page(BundleTable table, std::size_t index) const {
  if (auto kept = pages_.find(table, index)) return kept;
  CUBINET_TRY_ASSIGN(Page page, read_page(table, index));
  pages_.keep(table, index, page);
  return page;
}

Result<std::vector<BundlePack::Page>> BundlePack::pages_with(BundleTable table, std::uint64_t number) const {
  const auto& pages = map_.pages(table);
  const auto from = std::lower_bound(pages.begin(), pages.end(), number,
                                     [](const BundlePage& page, std::uint64_t n) { return page.first < n; });
  auto index = static_cast<std::size_t>(from - pages.begin());
  std::vector<Page> found;
  // The page before may end with it.
  for (index = index > 0 ? index - 1 : 0; index < pages.size() && pages[index].first <= number; ++index) {
    CUBINET_TRY_ASSIGN(found.emplace_back(), page(table, index));
  }
  return found;
}

Result<void> BundlePack::expect_pages(BundleTable table) const {
  std::vector<BytePart> parts;
  for (const BundlePage& page : map_.pages(table))
    parts.push_back({page.offset, page.stored, page.digest});
  return source_->expect(parts);
}

BytePart BundlePack::part_of(const BundleImage& image) const {
  return {map_.frames_offset + image.frame_offset, image.frame_stored, image.frame_digest, !image.alone()};
}

Result<CubinRecord> BundlePack::decode(ByteView record) const {
  auto decoded = decode_record(record);
  if (decoded && (decoded->origin != CubinOrigin::bundle || decoded->version != map_.root.options.version))
    decoded = damaged_part("it holds the record of another bundle");
  if (!decoded) return at_place(std::move(decoded).error());
  return decoded;
}

Result<BundleImage> BundlePack::decode_place(ByteView image) const {
  auto decoded = decode_image(image);
  if (decoded && (decoded->frame_stored > map_.frames_bytes ||
                  decoded->frame_offset > map_.frames_bytes - decoded->frame_stored))
    decoded = damaged_part("an image lies behind its end");
  if (!decoded) return at_place(std::move(decoded).error());
  return decoded;
}

Result<std::optional<BundleImage>> BundlePack::find_image(const Sha256Digest& digest) const {
  const std::uint64_t number = number_of(digest);
  CUBINET_TRY_ASSIGN(const std::vector<Page> pages, pages_with(BundleTable::images, number));
  for (const Page& page : pages) {
    const auto [from, to] = entries_with(BundleTable::images, *page, number);
    for (std::size_t i = from; i < to; ++i) {
      CUBINET_TRY_ASSIGN(const BundleImage image, decode_place(entry_of(BundleTable::images, *page, i)));
      if (image.digest == digest) return std::optional(image);
    }
  }
  return std::optional<BundleImage>();
}

Result<Bytes> BundlePack::read_stored(const BundleImage& image) const {
  return read_exactly(part_of(image));
}

Result<std::shared_ptr<const ZstdDictionary>> BundlePack::dictionary() const {
  if (map_.dictionary_bytes == 0) return std::shared_ptr<const ZstdDictionary>();
  const std::lock_guard lock(mutex_);
  if (dictionary_ != nullptr) return dictionary_;
  CUBINET_TRY_ASSIGN(const Bytes bytes, read_dictionary());
  dictionary_ = ZstdDictionary::of(bytes);
  if (dictionary_ == nullptr) return damaged_part("its dictionary is none");
  return dictionary_;
}

Result<Bytes> BundlePack::read_dictionary() const {
  if (map_.dictionary_bytes == 0) return Bytes();
  CUBINET_TRY_ASSIGN(Bytes bytes,
                     read_exactly({map_.dictionary_offset, map_.dictionary_bytes, map_.dictionary}));
  if (sha256(bytes) != map_.dictionary) return damaged_part("its dictionary has another SHA-256");
  return bytes;
}

Result<std::vector<BundleImage>> BundlePack::images() const {
  std::vector<BundleImage> images;
  for (std::size_t i = 0; i < map_.pages(BundleTable::images).size(); ++i) {
    CUBINET_TRY_ASSIGN(const Page page, read_page(BundleTable::images, i));
    for (std::size_t entry = 0; entry < entries_of(BundleTable::images, *page); ++entry) {
      CUBINET_TRY_ASSIGN(images.emplace_back(), decode_place(entry_of(BundleTable::images, *page, entry)));
    }
  }
  return images;
}

Result<Bytes> BundlePack::unpack(const BundleImage& image, ByteView stored) const {
  if (image.codec == FrameCodec::plain) return Bytes(stored.begin(), stored.end());
  CUBINET_TRY_ASSIGN(const auto with, dictionary());
  return unpack_zstd(stored, image.frame_bytes, with.get());
}

Result<Bytes> BundlePack::read_frame(const BundleImage& image) const {
  CUBINET_TRY_ASSIGN(Bytes stored, read_stored(image));
  // A plain frame of one image has the image's digest: it is hashed once.
  const bool hashed_later = image.alone() && image.codec == FrameCodec::plain;
  if (!hashed_later && sha256(stored) != image.frame_digest)
    return damaged_part("the SHA-256 of its frame is another");
  if (image.codec == FrameCodec::plain) return stored;
  return unpack(image, stored);
}

Result<std::shared_ptr<const Bytes>> BundlePack::read_group(const BundleImage& image) const {
  {
    const std::lock_guard lock(mutex_);
    if (last_group_ != nullptr && last_group_digest_ == image.frame_digest &&
        last_group_->size() == image.frame_bytes)
      return last_group_;
  }
  CUBINET_TRY_ASSIGN(Bytes content, read_frame(image));
  auto group = std::make_shared<const Bytes>(std::move(content));
  const std::lock_guard lock(mutex_);
  last_group_ = group;
  last_group_digest_ = image.frame_digest;
  return group;
}

Result<Bytes> BundlePack::read_image(const BundleImage& image) const {
  Bytes bytes;
  if (image.alone()) {
    CUBINET_TRY_ASSIGN(bytes, read_frame(image));
  } else {
    CUBINET_TRY_ASSIGN(const auto group, read_group(image));
    const ByteView part = ByteView(*group).subspan(image.offset, image.size);
    bytes.assign(part.begin(), part.end());
  }
  if (sha256(bytes) != image.digest) return damaged_part("its SHA-256 is another");
  return bytes;
}

}  // namespace cubinet
