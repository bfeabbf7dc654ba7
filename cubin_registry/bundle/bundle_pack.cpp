// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_pack.hpp"

#include "bundle/entry_finder.hpp"
#include "bundle/page_packing.hpp"

#include <algorithm>
#include <map>
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
      break;
  }
  return "names";
}

Error in_part(Error error, const char* part, BundleTable table, const BundlePage& page) {
  error.message = std::string(part) + " of its " + name_of(table) + ", at byte " +
                  std::to_string(page.offset) + ": " + error.message;
  return error;
}

Error damaged_part(const std::string& reason) {
  return Error{ErrorCode::corruption, reason};
}

}  // namespace

Result<std::shared_ptr<const BundlePack>> BundlePack::open(std::shared_ptr<const ByteSource> source,
                                                           const RootCheck& check) {
  CUBINET_TRY_ASSIGN(Bytes bytes, source->read_root());
  const auto stated = stated_root_bytes(bytes);  // the error for other files follows below
  if (stated && bytes.size() == kUsualRootBytes && *stated > bytes.size()) {
    CUBINET_TRY_ASSIGN(const Bytes rest, source->read(bytes.size(), *stated - bytes.size()));
    bytes.insert(bytes.end(), rest.begin(), rest.end());
  }
  if (check) {
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

Result<Bytes> BundlePack::read_whole(const BundlePage& page) const {
  CUBINET_TRY_ASSIGN(Bytes bytes, read_exactly({page.offset, page.stored, page.digest}));
  if (sha256(bytes) != page.digest) return damaged_part("its SHA-256 is another");
  return bytes;
}

Result<std::vector<BundlePage>> BundlePack::pages_of(BundleTable table, const BundlePage& branch) const {
  Page kept = pages_.find(branch.offset);
  const auto read = [&]() -> Result<std::vector<BundlePage>> {
    if (kept == nullptr) {
      CUBINET_TRY_ASSIGN(Bytes bytes, read_whole(branch));
      kept = std::make_shared<const Bytes>(std::move(bytes));
    }
    const std::uint32_t most = table == BundleTable::records ? kMaximumPageBytes : kPageBytes;
    CUBINET_TRY_ASSIGN(auto pages, decode_branch(*kept, map_.pages_offset, map_.pages_bytes, most));
    if (pages.front().first != branch.first) return damaged_part("it begins with another page");
    return pages;
  };
  auto result = read();
  if (!result) return at_place(in_part(std::move(result).error(), "the branch", table, branch));
  pages_.keep(branch.offset, std::move(kept));
  return result;
}

Result<BundlePack::Page> BundlePack::read_page(BundleTable table, const BundlePage& page) const {
  const auto read = [&]() -> Result<Page> {
    CUBINET_TRY_ASSIGN(Bytes bytes, read_whole(page));
    if (is_packed(table, map_.root.options.profile)) {
      CUBINET_TRY_ASSIGN(bytes, unpack_page(std::move(bytes)));
    }
    CUBINET_TRY(check_page(table, bytes, page.first));
    return std::make_shared<const Bytes>(std::move(bytes));
  };
  auto result = read();
  if (!result) return at_place(in_part(std::move(result).error(), "the page", table, page));
  return result;
}

Result<BundlePack::Page> BundlePack::page(BundleTable table, const BundlePage& page) const {
  if (auto kept = pages_.find(page.offset)) return kept;
  CUBINET_TRY_ASSIGN(Page read, read_page(table, page));
  pages_.keep(page.offset, read);
  return read;
}

BytePart BundlePack::part_of(const BundleImage& image) const {
  return {map_.frames_offset + image.frame_offset, image.frame_stored, image.frame_digest, !image.alone()};
}

Result<void> BundlePack::each_page_of_records(const Callback<Result<void>(ByteView page)>& give) const {
  constexpr BundleTable table = BundleTable::records;
  const auto expect = [&](const std::vector<BundlePage>& pages) {
    std::vector<BytePart> parts;
    for (const BundlePage& page : pages)
      parts.push_back({page.offset, page.stored, page.digest});
    return source_->expect(parts);
  };
  CUBINET_TRY(expect(map_.branches_of(table)));
  std::uint64_t end = map_.pages_offset;
  for (const BundlePage& branch : map_.branches_of(table)) {
    CUBINET_TRY_ASSIGN(const std::vector<BundlePage> pages, pages_of(table, branch));
    if (pages.front().offset != end)
      return at_place(
          in_part(damaged_part("its pages do not lie side by side"), "the branch", table, branch));
    end = pages.back().offset + pages.back().stored;
    CUBINET_TRY(expect(pages));
    for (const BundlePage& page : pages) {
      CUBINET_TRY_ASSIGN(const Page read, read_page(table, page));
      CUBINET_TRY(give(*read));
    }
  }
  return {};
}

Result<BundleEntry> BundlePack::decode(ByteView entry) const {
  auto record = decode_record(record_in(entry));
  if (record && (record->origin != CubinOrigin::bundle || record->version != map_.root.options.version))
    record = damaged_part("it holds the record of another bundle");
  if (!record) return at_place(std::move(record).error());
  CUBINET_TRY_ASSIGN(const BundleImage image, place_in(entry));
  if (image.digest != record->digest || image.size != record->size) {
    return at_place(damaged_part("kernel " + record->identity.key().to_string() +
                                 " leads to another image than its record names"));
  }
  return BundleEntry{std::make_shared<const CubinRecord>(*std::move(record)), image};
}

Result<BundleImage> BundlePack::place_in(ByteView entry) const {
  auto decoded = image_in(entry);
  if (decoded && (decoded->frame_stored > map_.frames_bytes ||
                  decoded->frame_offset > map_.frames_bytes - decoded->frame_stored))
    decoded = damaged_part("an image is beyond its end");
  const BundleProfile profile = map_.root.options.profile;
  if (decoded && ((profile == BundleProfile::plain && decoded->codec != FrameCodec::plain) ||
                  (profile != BundleProfile::archive && !decoded->alone())))
    decoded = damaged_part("an image is packed as its profile does not allow");
  if (!decoded) return at_place(std::move(decoded).error());
  return decoded;
}

Result<std::optional<BundleImage>> BundlePack::find_image(const CubinRecord& record) const {
  std::optional<BundleImage> found;
  EntryFinder finder(*this, BundleTable::records);
  CUBINET_TRY(finder.each(record.identity.kernel_hash(), [&](ByteView entry) -> Result<void> {
    if (!found && leads_to(entry, record.digest)) {
      CUBINET_TRY_ASSIGN(found, place_in(entry));
    }
    return {};
  }));
  return found;
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

Result<TuningTable> BundlePack::read_tuning() const {
  if (map_.tuning_bytes == 0) return TuningTable();
  CUBINET_TRY_ASSIGN(const Bytes bytes, read_exactly({map_.tuning_offset, map_.tuning_bytes, map_.tuning}));
  if (sha256(bytes) != map_.tuning) return damaged_part("its tuning table has another SHA-256");
  return TuningTable::decode(bytes);
}

Result<std::vector<BundleImage>> BundlePack::images() const {
  std::vector<BundleImage> images;
  CUBINET_TRY(each_page_of_records([&](ByteView page) -> Result<void> {
    for (std::size_t i = 0; i < entries_of(BundleTable::records, page); ++i) {
      CUBINET_TRY_ASSIGN(images.emplace_back(), place_in(entry_of(BundleTable::records, page, i)));
    }
    return {};
  }));
  std::map<std::uint64_t, std::uint64_t> frames;
  for (const BundleImage& image : images)
    frames[image.frame_offset] = std::max<std::uint64_t>(frames[image.frame_offset], image.frame_bytes);
  std::uint64_t bytes = 0;
  for (const auto& [offset, unpacked] : frames)
    bytes += unpacked;
  if (bytes > map_.root.image_bytes)
    return at_place(damaged_part("its images have more bytes than its root states"));
  std::sort(images.begin(), images.end(),
            [](const BundleImage& a, const BundleImage& b) { return a.digest < b.digest; });
  images.erase(std::unique(images.begin(), images.end(),
                           [](const BundleImage& a, const BundleImage& b) { return a.digest == b.digest; }),
               images.end());
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
