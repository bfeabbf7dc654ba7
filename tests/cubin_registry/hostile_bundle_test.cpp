// SPDX-License-Identifier: Apache-2.0
// Small bundles that are made to take much memory or time. Each test bounds the bytes that are read
// and allocated.
#include "bundle/bundle_index.hpp"
#include "bundle/zstd_frame.hpp"
#include "cubin_registry/bundle_fixture.hpp"
#include "cubin_registry/forged_bundle.hpp"
#include "support/allocation_count.hpp"

#include <functional>

namespace cubinet::test {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::uint64_t bytes_read(MemorySource& source) {
  std::uint64_t bytes = 0;
  for (const auto& [offset, count] : source.take_reads())
    bytes += count;
  return bytes;
}

// Runs every operation that reads a whole bundle, and a look-up, each on a bundle of its own.
// Returns how many bytes the most expensive one allocated.
std::uint64_t most_allocated(const Bytes& file, const KernelId& kernel) {
  const std::function<void(Bundle&)> operations[] = {
      [](Bundle& bundle) { CHECK_FALSE(bundle.list()); },
      [](Bundle& bundle) { CHECK_FALSE(bundle.rows()); },
      [](Bundle& bundle) { CHECK_FALSE(ok(bundle.verify()).findings.empty()); },
      [](Bundle& bundle) { CHECK_FALSE(import_bundle(bundle, *make_memory_store())); },
      [&](Bundle& bundle) { CHECK(ok(bundle.find(kernel)).empty()); },
  };
  std::uint64_t most = 0;
  for (const auto& operation : operations) {
    const auto bundle = ok(open_bundle(std::make_shared<MemorySource>(file), {}));
    const std::uint64_t before = allocated_bytes();
    operation(*bundle);
    most = std::max(most, allocated_bytes() - before);
  }
  return most;
}

std::shared_ptr<const CubinRecord> with_warnings(const Cubin& cubin, std::size_t bytes) {
  auto record = std::make_shared<CubinRecord>(*cubin.record);
  record->origin = CubinOrigin::bundle;
  record->version = 3;
  record->warnings.assign(bytes, 'w');
  return record;
}

BundleImage image_alone(const CubinRecord& record) {
  BundleImage image;
  image.digest = image.frame_digest = record.digest;
  image.size = image.frame_bytes = image.frame_stored = static_cast<std::uint32_t>(record.size);
  return image;
}

TEST_CASE("sound records that are packed to a thousandth are refused before they are unpacked") {
  ForgedBundle forged(BundleProfile::ship);
  std::vector<TableEntry> entries;
  for (int i = 0; i < 6; ++i) {
    const auto record = with_warnings(cubin_of(i), 4 * kMiB);
    entries.push_back(encode_entry(*record, image_alone(*record)));
  }
  std::sort(entries.begin(), entries.end(),
            [](const TableEntry& a, const TableEntry& b) { return a.number < b.number; });
  std::vector<BundlePage> pages;
  for (const FilledPage& page : fill_pages(BundleTable::records, entries, kPageBytes))
    pages.push_back(forged.add_page(page.first, pack_zstd(page.bytes)));
  forged.add_branch(BundleTable::records, pages);
  forged.map.root.records = entries.size();
  const Bytes file = forged.write();
  CHECK(file.size() < 16'384);
  CHECK(most_allocated(file, cubin_of(3).record->identity.kernel()) < kMiB);
}

TEST_CASE(
    "a record whose text repeats itself is bundled, and takes no more memory than sixteen times the bundle") {
  BundleFixture fixture;
  Cubin cubin = cubin_of(1);
  cubin.record = with_warnings(cubin, 4 * kMiB);
  BundleOptions options{"test", 3};
  options.profile = BundleProfile::ship;
  fixture.create({cubin}, options);
  const auto bundle = fixture.open();
  CHECK(bundle->root().file_bytes * 16 > 4 * kMiB);
  CHECK(ok(bundle->verify()).findings.empty());
  CHECK(ok(bundle->list()).front()->warnings == cubin.record->warnings);
}

TEST_CASE(
    "a lookup unpacks no page of a thousand times its stored size, however many begin with its number") {
  ForgedBundle forged(BundleProfile::ship);
  const KernelId kernel = cubin_of(1).record->identity.kernel();
  Bytes page = fill_pages(BundleTable::records, {{kernel.hash(), Bytes(8 * kMiB)}}, kPageBytes)[0].bytes;
  const Bytes stored = pack_zstd(page);
  std::vector<BundlePage> pages;
  for (int i = 0; i < 6; ++i)
    pages.push_back(forged.add_page(kernel.hash(), stored));
  forged.add_branch(BundleTable::records, pages);
  const Bytes file = forged.write();
  CHECK(file.size() < 16'384);
  CHECK(most_allocated(file, kernel) < kMiB);
}

TEST_CASE("branches that lead to one page have it read once") {
  for (const std::size_t pairs : {kPageBytes / 16, kPageBytes}) {
    CAPTURE(pairs);
    ForgedBundle forged(BundleProfile::plain);
    std::vector<TableEntry> entries;
    for (std::size_t i = 0; i < pairs; ++i)
      entries.push_back(encode_pair(7, i));
    const FilledPage filled =
        fill_pages(BundleTable::keys, entries, static_cast<std::uint32_t>(pairs * 16))[0];
    const BundlePage page = forged.add_page(filled.first, filled.bytes);
    for (int i = 0; i < 400; ++i)
      forged.add_branch(BundleTable::keys, std::span(&page, 1));
    const Bytes file = forged.write();
    const auto source = std::make_shared<MemorySource>(file);
    const auto bundle = ok(open_bundle(source, {}));
    source->take_reads();
    CHECK_FALSE(ok(bundle->verify()).findings.empty());
    CHECK(bytes_read(*source) <= 2 * file.size());
    CHECK_FALSE(import_bundle(*bundle, *make_memory_store()));
    CHECK(bytes_read(*source) <= 2 * file.size());
  }
}

// The bytes that it is given, and zeros behind them.
class SparseSource final : public ByteSource {
 public:
  SparseSource(Bytes bytes, std::uint64_t size) : bytes_(std::move(bytes)), size_(size) {}
  Result<Bytes> read(std::uint64_t offset, std::uint64_t count) const override {
    ++reads;
    count = std::min(count, size_ - std::min(offset, size_));
    Bytes read(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < read.size() && offset + i < bytes_.size(); ++i)
      read[i] = bytes_[static_cast<std::size_t>(offset) + i];
    bytes_read += count;
    return read;
  }
  const std::string& place() const override { return place_; }

  mutable std::uint64_t reads = 0;
  mutable std::uint64_t bytes_read = 0;

 private:
  const Bytes bytes_;
  const std::uint64_t size_;
  const std::string place_ = "sparse.bundle";
};

TEST_CASE("frames that the root states and nothing uses are not read, in a hole or not there at all") {
  ForgedBundle forged(BundleProfile::plain);
  forged.map.frames_bytes = std::uint64_t{60} << 30;
  const Bytes file = forged.write();
  for (const std::uint64_t size : {forged.map.root.file_bytes, std::uint64_t{7'000}}) {
    CAPTURE(size);
    const auto source = std::make_shared<SparseSource>(file, size);
    const auto bundle = ok(open_bundle(source, {}));
    CHECK_FALSE(ok(bundle->verify()).findings.empty());
    CHECK_FALSE(import_bundle(*bundle, *make_memory_store()));
    CHECK(source->reads < 20);
    CHECK(source->bytes_read < kMiB);
  }
}

TEST_CASE("images that have more bytes than the root states are not unpacked") {
  ForgedBundle forged(BundleProfile::ship);
  const Bytes zeros(16 * kMiB);
  const Bytes frame = pack_zstd(zeros);
  std::vector<TableEntry> entries;
  Bytes frames;
  for (int i = 0; i < 4; ++i) {
    auto record = std::make_shared<CubinRecord>(*with_warnings(cubin_of(i), 0));
    record->size = zeros.size();
    BundleImage image;
    image.digest = record->digest;
    image.size = image.frame_bytes = static_cast<std::uint32_t>(zeros.size());
    image.frame_stored = static_cast<std::uint32_t>(frame.size());
    image.frame_offset = frames.size();
    image.frame_digest = sha256(frame);
    image.codec = FrameCodec::zstd;
    frames.insert(frames.end(), frame.begin(), frame.end());
    entries.push_back(encode_entry(*record, image));
  }
  std::sort(entries.begin(), entries.end(),
            [](const TableEntry& a, const TableEntry& b) { return a.number < b.number; });
  const FilledPage page = fill_pages(BundleTable::records, entries, kPageBytes)[0];
  const BundlePage stored = forged.add_page(page.first, pack_zstd(page.bytes));
  forged.add_branch(BundleTable::records, std::span(&stored, 1));
  forged.map.root.records = entries.size();
  forged.map.root.image_bytes = 17 * kMiB;
  const auto bundle = ok(open_bundle(std::make_shared<MemorySource>(forged.write(frames)), {}));
  const std::uint64_t before = allocated_bytes();
  CHECK_FALSE(ok(bundle->verify()).findings.empty());
  CHECK(allocated_bytes() - before < 18 * kMiB);
}

TEST_CASE("a name that leads to many kernels has each page read once") {
  ForgedBundle forged(BundleProfile::plain);
  constexpr std::uint64_t kKernels = 64;
  // Larger than what a bundle keeps of its pages.
  const Bytes page = fill_pages(BundleTable::records, {{1, Bytes(5 * kMiB)}}, kPageBytes)[0].bytes;
  const BundlePage records = forged.add_page(1, page);
  std::vector<TableEntry> entries;
  for (std::uint64_t kernel = 0; kernel < kKernels; ++kernel)
    entries.push_back(encode_pair(hash_of_name("kernel"), 2 + kernel));
  const FilledPage filled = fill_pages(BundleTable::names, entries, kPageBytes)[0];
  const BundlePage names = forged.add_page(filled.first, filled.bytes);
  forged.add_branch(BundleTable::records, std::span(&records, 1));
  forged.add_branch(BundleTable::names, std::span(&names, 1));
  const Bytes file = forged.write();
  const auto source = std::make_shared<MemorySource>(file);
  const auto bundle = ok(open_bundle(source, {}));
  source->take_reads();
  CHECK(ok(bundle->find_function("kernel")).empty());
  CHECK(bytes_read(*source) <= file.size());
}

TEST_CASE("many builds of one kernel are imported, and their frames named, in a few readings of the bundle") {
  BundleFixture fixture;
  std::vector<Cubin> cubins;
  for (int i = 0; i < 1000; ++i)
    cubins.push_back(cubin_of(1, "build " + std::to_string(i)));
  fixture.create(cubins);
  const Bytes file = read_file(fixture.path);
  const auto source = std::make_shared<MemorySource>(file);
  const std::uint64_t images = 1000 * cubins.front().image->size();
  const auto bundle = ok(open_bundle(source, {}));
  const auto store = make_memory_store();
  CHECK(ok(import_bundle(*bundle, *store)).imported == 1000);
  CHECK(bytes_read(*source) < 5 * file.size() + images);
  CHECK(ok(import_bundle(*bundle, *store)).present == 1000);
  source->take_reads();
  CHECK(ok(frames_of(*bundle, ok(bundle->list()))).size() == 1);
  CHECK(bytes_read(*source) < 2 * file.size());
}

}  // namespace
}  // namespace cubinet::test
