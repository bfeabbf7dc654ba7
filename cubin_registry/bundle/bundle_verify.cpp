// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_verify.hpp"

#include "bundle/bundle_index.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace cubinet {
namespace {

bool is_zero(ByteView bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte value) { return value == std::byte{0}; });
}

class BundleVerification {
 public:
  explicit BundleVerification(const BundlePack& pack) : pack_(pack), map_(pack.map()) {}

  Result<VerifyReport> run() {
    report_.entries = map_.root.records;
    CUBINET_TRY(check_root());
    CUBINET_TRY(read_tables());
    check_tables();
    CUBINET_TRY(check_frames());
    CUBINET_TRY(check_end());
    return std::move(report_);
  }

 private:
  void find(StoreFinding::Kind kind, std::string reason) {
    report_.findings.push_back({kind, pack_.source().place(), std::move(reason)});
  }
  // A part that is not what it should be is a finding; anything else ends the verification.
  Result<void> note(Result<void> done, StoreFinding::Kind kind) {
    if (done || done.error().code != ErrorCode::corruption) return done;
    find(kind, done.error().message);
    return {};
  }

  Result<void> check_root();
  Result<void> read_tables();
  Result<void> read_page(BundleTable table, std::size_t index);
  void check_tables();
  void check_users();
  Result<void> check_frames();
  Result<void> check_frame(const std::vector<BundleImage>& images);
  Result<void> check_zeros(std::uint64_t from, std::uint64_t to);
  Result<void> check_end();

  const BundlePack& pack_;
  const BundleMap& map_;
  VerifyReport report_;
  CubinRecords records_;
  std::vector<BundleImage> images_;
  std::vector<Bytes> pairs_[kBundleTables];  // the pages of keys and of names
  bool tables_whole_ = true;
};

// It was checked when the bundle was opened; what lies there may have changed since.
Result<void> BundleVerification::check_root() {
  CUBINET_TRY_ASSIGN(const Bytes bytes, pack_.source().read(0, map_.root_bytes));
  if (!std::equal(bytes.begin(), bytes.end(), pack_.root_bytes().begin(), pack_.root_bytes().end()))
    find(StoreFinding::Kind::damaged_index, "its root is another than when it was opened");
  return {};
}

Result<void> BundleVerification::read_page(BundleTable table, std::size_t index) {
  CUBINET_TRY_ASSIGN(const auto page, pack_.read_page(table, index));
  if (table == BundleTable::records) return decode_records(pack_, *page, records_);
  if (table != BundleTable::images) {
    pairs_[static_cast<std::size_t>(table)].push_back(*page);
    return {};
  }
  for (std::size_t i = 0; i < entries_of(table, *page); ++i) {
    CUBINET_TRY_ASSIGN(const BundleImage image, pack_.decode_place(entry_of(table, *page, i)));
    if (!images_.empty() && !(images_.back().digest < image.digest))
      return pack_.at_place(Error{ErrorCode::corruption, "its images are not in order"});
    images_.push_back(image);
  }
  return {};
}

Result<void> BundleVerification::read_tables() {
  for (const BundleTable table :
       {BundleTable::records, BundleTable::keys, BundleTable::names, BundleTable::images}) {
    for (std::size_t i = 0; i < map_.pages(table).size(); ++i) {
      const std::size_t before = report_.findings.size();
      CUBINET_TRY(note(read_page(table, i), table == BundleTable::records
                                                ? StoreFinding::Kind::damaged_record
                                                : StoreFinding::Kind::damaged_index));
      tables_whole_ = tables_whole_ && report_.findings.size() == before;
    }
  }
  return {};
}

void BundleVerification::check_tables() {
  if (!tables_whole_) return;  // one damaged page is one finding
  check_users();
  for (const BundleTable table : {BundleTable::keys, BundleTable::names}) {
    Bytes there;
    for (const Bytes& page : pairs_[static_cast<std::size_t>(table)])
      there.insert(there.end(), page.begin(), page.end());
    Bytes expected;
    for (const TableEntry& entry : table_entries(table, records_, images_))
      expected.insert(expected.end(), entry.bytes.begin(), entry.bytes.end());
    if (there != expected)
      find(StoreFinding::Kind::damaged_index, "its keys or names do not lead to all of its records");
  }
  std::uint64_t image_bytes = 0;
  for (const BundleImage& image : images_)
    image_bytes += image.size;
  const BundleRoot& root = map_.root;
  if (root.records != records_.size() || root.images != images_.size() || root.image_bytes != image_bytes ||
      root.targets != targets_of(records_))
    find(StoreFinding::Kind::damaged_index, "its root counts other records, images or targets than it holds");
}

void BundleVerification::check_users() {
  std::vector<bool> used(images_.size(), false);
  for (const auto& record : records_) {
    const auto image = std::lower_bound(
        images_.begin(), images_.end(), record->digest,
        [](const BundleImage& each, const Sha256Digest& digest) { return each.digest < digest; });
    if (image == images_.end() || image->digest != record->digest || image->size != record->size) {
      find(StoreFinding::Kind::missing_cubin,
           "kernel " + record->identity.key().to_string() + " names an image that is not in it");
    } else {
      used[static_cast<std::size_t>(image - images_.begin())] = true;
    }
  }
  const auto unused = std::count(used.begin(), used.end(), false);
  if (unused > 0)
    find(StoreFinding::Kind::stray_file, "no record names " + std::to_string(unused) + " of its images");
}

Result<void> BundleVerification::check_zeros(std::uint64_t from, std::uint64_t to) {
  constexpr std::uint64_t kStep = std::uint64_t{1} << 20;
  for (; from < to; from += std::min(kStep, to - from)) {
    CUBINET_TRY_ASSIGN(const Bytes bytes, pack_.source().read(from, std::min(kStep, to - from)));
    if (is_zero(bytes)) continue;
    find(StoreFinding::Kind::stray_file,
         "there are bytes between frames, before offset " + std::to_string(to));
    break;
  }
  return {};
}

Result<void> BundleVerification::check_frame(const std::vector<BundleImage>& images) {
  const BundleImage& first = images.front();
  const auto damaged = [&](const std::string& reason) {
    return Error{ErrorCode::corruption, "the frame of image " + first.digest.to_hex() + ": " + reason};
  };
  CUBINET_TRY_ASSIGN(const Bytes stored, pack_.read_stored(first));
  if (sha256(stored) != first.frame_digest) return damaged("its SHA-256 is another");
  auto content = pack_.unpack(first, stored);
  if (!content) return damaged(content.error().message);
  std::uint64_t end = 0;
  for (const BundleImage& image : images) {
    const bool same = image.frame_stored == first.frame_stored && image.frame_bytes == first.frame_bytes &&
                      image.frame_digest == first.frame_digest && image.codec == first.codec;
    if (!same || image.offset != end) return damaged("its images do not lie side by side");
    if (sha256(ByteView(*content).subspan(image.offset, image.size)) != image.digest)
      return damaged("the SHA-256 of image " + image.digest.to_hex() + " is another");
    end = std::uint64_t{image.offset} + image.size;
    report_.bytes += image.size;
  }
  if (end != content->size()) return damaged("it holds more than its images");
  return {};
}

Result<void> BundleVerification::check_frames() {
  const auto dictionary = pack_.read_dictionary();
  CUBINET_TRY(note(dictionary ? Result<void>() : dictionary.error(), StoreFinding::Kind::damaged_index));
  std::vector<BundleImage> images = images_;
  std::sort(images.begin(), images.end(), [](const BundleImage& a, const BundleImage& b) {
    return std::pair(a.frame_offset, a.offset) < std::pair(b.frame_offset, b.offset);
  });
  std::uint64_t end = map_.dictionary_offset + map_.dictionary_bytes;
  for (std::size_t i = 0; i < images.size();) {
    std::size_t behind = i + 1;
    while (behind < images.size() && images[behind].frame_offset == images[i].frame_offset)
      ++behind;
    const std::uint64_t begin = map_.frames_offset + images[i].frame_offset;
    if (begin < end) find(StoreFinding::Kind::damaged_index, "frames overlap at " + std::to_string(begin));
    // Where a page is missing nothing can be said of what lies between.
    if (tables_whole_ && begin > end) CUBINET_TRY(check_zeros(end, begin));
    CUBINET_TRY(note(check_frame({images.begin() + static_cast<std::ptrdiff_t>(i),
                                  images.begin() + static_cast<std::ptrdiff_t>(behind)}),
                     StoreFinding::Kind::damaged_cubin));
    end = std::max(end, begin + images[i].frame_stored);
    i = behind;
  }
  return tables_whole_ ? check_zeros(end, map_.root.file_bytes) : Result<void>();
}

Result<void> BundleVerification::check_end() {
  const std::uint64_t end = map_.root.file_bytes;
  CUBINET_TRY_ASSIGN(const Bytes last, pack_.source().read(end - 1, 2));
  if (last.empty()) find(StoreFinding::Kind::damaged_index, "it ends before " + std::to_string(end));
  if (last.size() > 1) {
    find(StoreFinding::Kind::stray_file, "there are bytes after its end at " + std::to_string(end));
  }
  return {};
}

}  // namespace

Result<void> decode_records(const BundlePack& pack, ByteView page, CubinRecords& records) {
  for (std::size_t i = 0; i < entries_of(BundleTable::records, page); ++i) {
    CUBINET_TRY_ASSIGN(CubinRecord record, pack.decode(entry_of(BundleTable::records, page, i)));
    const bool behind = records.empty() || bundle_order(*records.back(), record);
    if (!behind || record.identity.kernel_hash() != number_of(BundleTable::records, page, i))
      return pack.at_place(Error{ErrorCode::corruption, "its records are not in order"});
    records.push_back(std::make_shared<const CubinRecord>(std::move(record)));
  }
  return {};
}

Result<VerifyReport> verify_bundle(const BundlePack& pack) {
  return BundleVerification(pack).run();
}

}  // namespace cubinet
