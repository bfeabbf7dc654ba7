// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_verify.hpp"

#include "bundle/bundle_index.hpp"
#include "bundle/frame_check.hpp"
#include "bundle/zstd_frame.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace cubinet {
namespace {

// Returns the release of libzstd that the root names. A record can name one too, as its compiler.
std::string packer_of(const BundleRoot& root, const CubinRecords& records) {
  std::set<std::string_view> compilers;
  for (const auto& record : records)
    compilers.insert(record->compiler);
  for (const std::string& tool : root.toolchain) {
    if (tool.starts_with(kZstdName) && !compilers.contains(tool)) return tool;
  }
  return zstd_release();
}

bool is_zero(ByteView bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte value) { return value == std::byte{0}; });
}

class BundleVerification {
 public:
  BundleVerification(const BundlePack& pack, BundleCheck check)
      : pack_(pack), map_(pack.map()), check_(check) {}

  Result<VerifyReport> run() {
    report_.entries = map_.root.records;
    CUBINET_TRY(check_end());
    CUBINET_TRY(check_root());
    CUBINET_TRY(read_tables());
    take_images();
    check_tables();
    CUBINET_TRY(check_frames());
    return std::move(report_);
  }

 private:
  void find(StoreFinding::Kind kind, std::string reason) {
    report_.findings.push_back({kind, pack_.source().place(), std::move(reason)});
  }
  // Records corruption as a finding. Any other error ends the verification.
  Result<void> note(Result<void> done, StoreFinding::Kind kind) {
    if (done || done.error().code != ErrorCode::corruption) return done;
    std::string reason = done.error().message;
    const std::string named =
        pack_.at_place(Error{done.error().code, {}}).message;  // the finding names it separately
    if (reason.starts_with(named)) reason.erase(0, named.size());
    find(kind, std::move(reason));
    return {};
  }

  Result<void> check_root();
  Result<void> read_tables();
  Result<void> read_branch(BundleTable table, const BundlePage& branch);
  Result<void> read_page(BundleTable table, const BundlePage& page);
  Result<void> take_records(ByteView page);
  void take_images();
  void check_tables();
  void check_cuts();
  void check_description();
  Result<void> check_frames();
  Result<void> check_group(const std::vector<BundleImage>& images);
  Result<void> check_content(const std::vector<BundleImage>& images);
  Result<void> check_tuning();
  Result<void> check_gap(std::uint64_t from, std::uint64_t to, std::uint64_t alignment);
  Result<void> check_end();

  const BundlePack& pack_;
  const BundleMap& map_;
  const BundleCheck check_;
  VerifyReport report_;
  std::vector<BundleEntry> entries_;
  CubinRecords records_;             // records on the read pages
  std::vector<BundleImage> images_;  // their images, each once, ascending by digest
  Bytes pairs_[kBundleTables];       // keys and names
  // For each table: its pages, the sizes of their entries, and the number of entries before each
  // page's end.
  TablePages pages_;
  std::vector<SizedEntry> sizes_[kBundleTables];
  std::vector<std::size_t> ends_[kBundleTables];
  std::uint64_t pages_end_ = 0;  // end of the pages that were read
  // The first and last number of the last page.
  std::optional<std::uint64_t> first_number_;
  std::optional<std::uint64_t> last_number_;
  bool tables_whole_ = true;
  std::uint64_t unpacked_ = 0;  // bytes of the frames that were unpacked
};

// The root was checked when the bundle was opened, but the file may have changed since.
Result<void> BundleVerification::check_root() {
  CUBINET_TRY_ASSIGN(const Bytes bytes, pack_.source().read(0, map_.root_bytes));
  if (!std::equal(bytes.begin(), bytes.end(), pack_.root_bytes().begin(), pack_.root_bytes().end()))
    find(StoreFinding::Kind::damaged_index, "its root is another than when it was opened");
  return {};
}

Result<void> BundleVerification::read_page(BundleTable table, const BundlePage& page) {
  CUBINET_TRY_ASSIGN(const auto read, pack_.read_page(table, page));
  const std::uint64_t last = number_of(table, *read, entries_of(table, *read) - 1);
  const bool parted = last_number_ == page.first && first_number_ != page.first;
  first_number_ = page.first;
  last_number_ = last;
  // A lookup reads one page and relies on it to have all entries of the number.
  if (parted)
    return pack_.at_place(Error{ErrorCode::corruption, "entries of one number are on two of its pages"});
  auto& sizes = sizes_[static_cast<std::size_t>(table)];
  for (std::size_t i = 0; i < entries_of(table, *read); ++i)
    sizes.push_back({number_of(table, *read, i), entry_of(table, *read, i).size()});
  ends_[static_cast<std::size_t>(table)].push_back(sizes.size());
  BundlePage place = page;
  place.offset -= map_.pages_offset;
  pages_[static_cast<std::size_t>(table)].push_back(place);
  if (table == BundleTable::records) return take_records(*read);
  Bytes& pairs = pairs_[static_cast<std::size_t>(table)];
  pairs.insert(pairs.end(), read->begin(), read->end());
  return {};
}

Result<void> BundleVerification::take_records(ByteView page) {
  const std::size_t before = entries_.size();
  CUBINET_TRY(decode_entries(pack_, page, entries_));
  for (std::size_t i = before; i < entries_.size(); ++i) {
    const ByteView stored = entry_of(BundleTable::records, page, i - before);
    const Bytes encoded = encode_entry(*entries_[i].record, entries_[i].image).bytes;
    if (!std::equal(stored.begin(), stored.end(), encoded.begin(), encoded.end()))
      return pack_.at_place(Error{ErrorCode::corruption, "a record is not in its canonical encoding"});
  }
  return {};
}

Result<void> BundleVerification::read_branch(BundleTable table, const BundlePage& branch) {
  CUBINET_TRY_ASSIGN(const auto pages, pack_.pages_of(table, branch));
  const std::uint64_t begin = pages.front().offset;
  if (begin < pages_end_ || (begin > pages_end_ && tables_whole_))
    find(StoreFinding::Kind::damaged_index, "its pages do not lie side by side");
  if (begin < pages_end_) return {};  // no page is read twice
  pages_end_ = pages.back().offset + pages.back().stored;
  for (const BundlePage& page : pages) {
    const std::size_t before = report_.findings.size();
    CUBINET_TRY(note(read_page(table, page), table == BundleTable::records
                                                 ? StoreFinding::Kind::damaged_record
                                                 : StoreFinding::Kind::damaged_index));
    tables_whole_ = tables_whole_ && report_.findings.size() == before;
  }
  return {};
}

Result<void> BundleVerification::read_tables() {
  pages_end_ = map_.pages_offset;
  for (const BundleTable table : {BundleTable::records, BundleTable::keys, BundleTable::names}) {
    first_number_.reset();
    last_number_.reset();
    for (const BundlePage& branch : map_.branches_of(table)) {
      const std::size_t before = report_.findings.size();
      CUBINET_TRY(note(read_branch(table, branch), StoreFinding::Kind::damaged_index));
      tables_whole_ = tables_whole_ && report_.findings.size() == before;
    }
  }
  if (tables_whole_ && pages_end_ != map_.pages_offset + map_.pages_bytes)
    find(StoreFinding::Kind::damaged_index, "there are bytes between its pages and what follows");
  return {};
}

void BundleVerification::check_tables() {
  if (!tables_whole_) return;  // one damaged page is one finding
  for (const BundleTable table : {BundleTable::keys, BundleTable::names}) {
    Bytes expected;
    for (const TableEntry& entry : table_entries(table, records_, images_))
      expected.insert(expected.end(), entry.bytes.begin(), entry.bytes.end());
    if (pairs_[static_cast<std::size_t>(table)] != expected)
      find(StoreFinding::Kind::damaged_index, "its keys or names do not lead to all of its records");
  }
  check_cuts();
  check_description();
}

// Checks that each entry is on the page on which the writer would put it.
void BundleVerification::check_cuts() {
  for (const BundleTable table : {BundleTable::records, BundleTable::keys, BundleTable::names}) {
    const auto number = static_cast<std::size_t>(table);
    if (page_ends(table, sizes_[number], kPageBytes) != ends_[number])
      find(StoreFinding::Kind::damaged_index,
           "its entries are not on the pages on which the writer puts them");
  }
}

// Checks that the root is the one that the writer would write for these pages.
void BundleVerification::check_description() {
  BundleMap map = map_;
  describe_content(map.root, records_, images_, packer_of(map_.root, records_));
  const BundleRoot& stated = map_.root;
  if (stated.records != map.root.records || stated.images != map.root.images ||
      stated.image_bytes != map.root.image_bytes || stated.targets != map.root.targets ||
      stated.toolchain != map.root.toolchain) {
    find(StoreFinding::Kind::damaged_index,
         "its root does not state the records, images, targets or compilers that it holds");
    return;
  }
  const auto index = index_pages(std::move(map), pages_);
  const ByteView root = pack_.root_bytes();
  if (!index || !std::equal(root.begin(), root.end(), index->root.begin(), index->root.end()))
    find(StoreFinding::Kind::damaged_index,
         "its pages are not on the branches on which the writer puts them");
}

void BundleVerification::take_images() {
  std::map<Sha256Digest, BundleImage> images;
  for (const BundleEntry& entry : entries_) {
    records_.push_back(entry.record);
    const BundleImage& first = images.emplace(entry.image.digest, entry.image).first->second;
    if (first != entry.image) {
      find(StoreFinding::Kind::damaged_index, "it has two places for image " + entry.image.digest.to_hex());
    }
  }
  for (const auto& [digest, image] : images)
    images_.push_back(image);
}

// Checks the bytes before a frame: zeros, as many as bring it to a multiple of `alignment`.
Result<void> BundleVerification::check_gap(std::uint64_t from, std::uint64_t to, std::uint64_t alignment) {
  if (to < from) {
    find(StoreFinding::Kind::damaged_index, "frames overlap at " + std::to_string(to));
    return {};
  }
  if (!tables_whole_) return {};  // the frames of images on a damaged page are not known
  bool used = to == (from + alignment - 1) / alignment * alignment;
  if (used && to > from) {
    CUBINET_TRY_ASSIGN(const Bytes bytes, pack_.source().read(from, to - from));
    used = is_zero(bytes);
  }
  if (!used)
    find(StoreFinding::Kind::stray_file,
         "it has bytes that nothing uses, before offset " + std::to_string(to));
  return {};
}

Result<void> BundleVerification::check_content(const std::vector<BundleImage>& images) {
  const BundleImage& first = images.front();
  unpacked_ += first.frame_bytes;
  if (unpacked_ > map_.root.image_bytes) {
    return Error{ErrorCode::corruption, "the frame of image " + first.digest.to_hex() +
                                            ": its images have more bytes than the root states of all"};
  }
  CUBINET_TRY(read_sound_frame(pack_, images));
  report_.bytes += first.frame_bytes;
  return {};
}

Result<void> BundleVerification::check_tuning() {
  const auto tuning = pack_.read_tuning();
  // An import skips a table of a newer version.
  if (!tuning && tuning.error().code == ErrorCode::unsupported && check_ == BundleCheck::structure) return {};
  if (!tuning) return note(tuning.error(), StoreFinding::Kind::damaged_index);
  const bool sound = tuning->empty() ? map_.tuning_bytes == 0 : tuning->digest() == map_.tuning;
  if (!sound) find(StoreFinding::Kind::damaged_index, "its tuning table is not in its canonical encoding");
  return {};
}

Result<void> BundleVerification::check_frames() {
  const auto dictionary = pack_.read_dictionary();
  CUBINET_TRY(note(dictionary ? Result<void>() : dictionary.error(), StoreFinding::Kind::damaged_index));
  std::vector<BundleImage> images = images_;
  std::sort(images.begin(), images.end(), [](const BundleImage& a, const BundleImage& b) {
    return std::pair(a.frame_offset, a.offset) < std::pair(b.frame_offset, b.offset);
  });
  CUBINET_TRY(check_tuning());
  const bool plain = map_.root.options.profile == BundleProfile::plain;
  std::uint64_t end = map_.tuning_offset + map_.tuning_bytes;
  std::uint64_t alignment = kBundleAlignment;
  for (std::size_t i = 0; i < images.size();) {
    std::size_t behind = i + 1;
    while (behind < images.size() && images[behind].frame_offset == images[i].frame_offset)
      ++behind;
    const std::uint64_t begin = map_.frames_offset + images[i].frame_offset;
    CUBINET_TRY(check_gap(end, begin, alignment));
    if (plain && i > 0 && images[i].digest < images[i - 1].digest)
      find(StoreFinding::Kind::damaged_index,
           "its frames are not in order, at byte " + std::to_string(begin));
    CUBINET_TRY(check_group({images.begin() + static_cast<std::ptrdiff_t>(i),
                             images.begin() + static_cast<std::ptrdiff_t>(behind)}));
    end = std::max(end, begin + images[i].frame_stored);
    alignment = plain ? kBundleAlignment : 1;
    i = behind;
  }
  return check_gap(end, map_.root.file_bytes, images.empty() ? kBundleAlignment : 1);
}

Result<void> BundleVerification::check_group(const std::vector<BundleImage>& images) {
  auto sound = check_frame(images);
  if (sound && check_ == BundleCheck::everything) sound = check_content(images);
  return note(std::move(sound), StoreFinding::Kind::damaged_cubin);
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

Result<void> decode_entries(const BundlePack& pack, ByteView page, std::vector<BundleEntry>& entries) {
  for (std::size_t i = 0; i < entries_of(BundleTable::records, page); ++i) {
    CUBINET_TRY_ASSIGN(BundleEntry entry, pack.decode(entry_of(BundleTable::records, page, i)));
    const bool behind = entries.empty() || bundle_order(*entries.back().record, *entry.record);
    if (!behind || entry.record->identity.kernel_hash() != number_of(BundleTable::records, page, i))
      return pack.at_place(Error{ErrorCode::corruption, "its records are not in order"});
    entries.push_back(std::move(entry));
  }
  return {};
}

Result<VerifyReport> verify_bundle(const BundlePack& pack, BundleCheck check) {
  return BundleVerification(pack, check).run();
}

}  // namespace cubinet
