// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_verify.hpp"

#include "bundle/bundle_index.hpp"
#include "bundle/zstd_frame.hpp"
#include "cubin_registry/bundle_fixture.hpp"
#include "support/measured_row.hpp"
#include "support/ok.hpp"

#include <functional>

namespace cubinet::test {
namespace {

// A bundle whose every digest is right and whose parts contradict each other, as somebody writes it
// who means to deceive.
struct Parts {
  CubinRecords records;
  std::vector<BundleImage> images;
  Bytes frames;
  std::uint64_t version = 3;  // that the root says
  BundleProfile profile = BundleProfile::plain;
  Bytes tuning;
};

Parts good_parts() {
  Parts parts;
  std::vector<Cubin> cubins = cubins_up_to(3);
  std::sort(cubins.begin(), cubins.end(),
            [](const Cubin& a, const Cubin& b) { return a.record->digest < b.record->digest; });
  for (const Cubin& cubin : cubins) {
    auto record = std::make_shared<CubinRecord>(*cubin.record);
    record->origin = CubinOrigin::bundle;
    record->version = 3;
    BundleImage image;
    image.digest = image.frame_digest = record->digest;
    image.size = image.frame_bytes = image.frame_stored = static_cast<std::uint32_t>(record->size);
    parts.frames.resize((parts.frames.size() + 63) / 64 * 64);
    image.frame_offset = parts.frames.size();
    parts.frames.insert(parts.frames.end(), cubin.image->begin(), cubin.image->end());
    parts.records.push_back(std::move(record));
    parts.images.push_back(image);
  }
  std::sort(parts.records.begin(), parts.records.end(),
            [](const auto& a, const auto& b) { return bundle_order(*a, *b); });
  return parts;
}

VerifyReport verified(const Parts& parts, const std::function<void(BundleIndex&)>& change = {}) {
  auto index = make_index({"test", parts.version, 0, 0, parts.profile}, parts.records, parts.images, {},
                          parts.tuning, parts.frames.size());
  REQUIRE(index);
  if (change) {
    change(*index);
    index->root = encode_root(index->map);
  }
  Bytes bytes = index->root;
  for (const Bytes& page : index->pages)
    bytes.insert(bytes.end(), page.begin(), page.end());
  bytes.insert(bytes.end(), parts.tuning.begin(), parts.tuning.end());
  bytes.resize(static_cast<std::size_t>(index->map.frames_offset));
  bytes.insert(bytes.end(), parts.frames.begin(), parts.frames.end());
  const auto pack = BundlePack::open(std::make_shared<MemorySource>(bytes));
  REQUIRE_MESSAGE(pack.has_value(), why_not(pack));
  const auto report = verify_bundle(**pack);
  REQUIRE_MESSAGE(report.has_value(), why_not(report));
  return *report;
}

TEST_CASE("parts that agree are sound") {
  const VerifyReport report = verified(good_parts());
  CHECK(report.findings.empty());
  CHECK(report.entries == 3);
  CHECK(report.bytes > 0);
}

TEST_CASE("parts that are whole and contradict each other are found") {
  const auto found = [](const std::function<void(Parts&)>& change) {
    Parts parts = good_parts();
    change(parts);
    return !verified(parts).findings.empty();
  };
  CHECK(found([](Parts& parts) { std::swap(parts.records[0], parts.records[1]); }));
  CHECK(found([](Parts& parts) { parts.records.push_back(parts.records.back()); }));
  CHECK(found([](Parts& parts) { parts.records.pop_back(); }));
  CHECK(found([](Parts& parts) { parts.images.pop_back(); }));
  CHECK(found([](Parts& parts) { parts.images.insert(parts.images.begin(), parts.images[0]); }));
  CHECK(found([](Parts& parts) { parts.images[1].frame_offset = parts.images[0].frame_offset; }));
  CHECK(found([](Parts& parts) { parts.images[1].frame_offset = parts.frames.size(); }));
  CHECK(found([](Parts& parts) { parts.images[0].frame_digest = parts.images[1].digest; }));
  CHECK(found([](Parts& parts) { parts.version = 8; }));
  CHECK(found([](Parts& parts) { parts.frames.back() ^= std::byte{1}; }));
  CHECK(found([](Parts& parts) { parts.frames.push_back(std::byte{0}); }));
  CHECK(found([](Parts& parts) { parts.frames.resize(parts.frames.size() + 64); }));
  CHECK(found([](Parts& parts) {
    parts.images[0].size -= 1;
    parts.images[0].frame_bytes -= 1;
    parts.images[0].frame_stored -= 1;
  }));
}

TEST_CASE("a root that counts what is not there, and an index that leads elsewhere, are found") {
  const auto found = [](const std::function<void(BundleMap&)>& change) {
    return !verified(good_parts(), [&](BundleIndex& index) { change(index.map); }).findings.empty();
  };
  CHECK_FALSE(found([](BundleMap&) {}));
  CHECK(found([](BundleMap& map) { map.root.records = 2; }));
  CHECK(found([](BundleMap& map) { map.root.images = 4; }));
  CHECK(found([](BundleMap& map) { map.root.image_bytes = 1; }));
  CHECK(found([](BundleMap& map) { map.root.targets = {"sm_80"}; }));
  CHECK(found([](BundleMap& map) { map.root.toolchain = {}; }));
  CHECK(found([](BundleMap& map) { map.root.toolchain.push_back("zzz"); }));
  CHECK(found([](BundleMap& map) { map.root.toolchain = {"another compiler"}; }));
  const auto wrong_key = verified(good_parts(), [](BundleIndex& index) {
    Bytes& keys = index.pages[4];  // behind three branches and the page of records
    keys[8] ^= std::byte{1};
    const std::uint64_t offset = index.pages[3].size();
    const BundlePage page{index.map.branches[1][0].first, static_cast<std::uint32_t>(keys.size()),
                          sha256(keys), offset};
    index.pages[1] = encode_branch(std::span(&page, 1));
    index.map.branches[1][0].digest = sha256(index.pages[1]);
  });
  CHECK(wrong_key.findings.size() == 1);
}

// The table of records on these pages instead of one.
void repage(BundleIndex& index, const std::vector<std::vector<TableEntry>>& entries) {
  std::vector<Bytes> pages;
  std::vector<BundlePage> lists[kBundleTables];
  index.map.pages_bytes = 0;
  const auto add = [&](std::size_t table, std::uint64_t first, Bytes page) {
    lists[table].push_back(
        {first, static_cast<std::uint32_t>(page.size()), sha256(page), index.map.pages_bytes});
    index.map.pages_bytes += page.size();
    pages.push_back(std::move(page));
  };
  for (const auto& each : entries) {
    FilledPage filled = fill_pages(BundleTable::records, each, kPageBytes).front();
    add(0, filled.first, std::move(filled.bytes));
  }
  add(1, index.map.branches[1][0].first, index.pages[4]);
  add(2, index.map.branches[2][0].first, index.pages[5]);
  for (std::size_t table = 0; table < kBundleTables; ++table) {
    const Bytes branch = encode_branch(lists[table]);
    pages.insert(pages.begin() + static_cast<std::ptrdiff_t>(table), branch);
    index.map.branches[table] = {
        {lists[table].front().first, static_cast<std::uint32_t>(branch.size()), sha256(branch)}};
  }
  index.pages = std::move(pages);
}

TEST_CASE("records of one kernel that lie on two pages, of which one is read, are found") {
  Parts parts = good_parts();
  auto sibling = std::make_shared<CubinRecord>(*parts.records.back());
  sibling->fingerprint.digest = sha256(as_bytes("sibling"));
  parts.records.push_back(sibling);
  std::sort(parts.records.begin(), parts.records.end(),
            [](const auto& a, const auto& b) { return bundle_order(*a, *b); });
  const auto entries = table_entries(BundleTable::records, parts.records, parts.images);
  REQUIRE(entries[2].number == entries[3].number);
  const auto whole = verified(parts, [&](BundleIndex& index) {
    repage(index, {{entries[0], entries[1], entries[2], entries[3]}});
  });
  CHECK(whole.findings.empty());
  const auto early = verified(parts, [&](BundleIndex& index) {
    repage(index, {{entries[0], entries[1]}, {entries[2], entries[3]}});
  });
  REQUIRE(early.findings.size() == 1);
  CHECK(early.findings.front().reason.find("not on the pages") != std::string::npos);
  const auto parted = verified(parts, [&](BundleIndex& index) {
    repage(index, {{entries[0], entries[1], entries[2]}, {entries[3]}});
  });
  REQUIRE(parted.findings.size() == 1);
  CHECK(parted.findings.front().reason.find("two of its pages") != std::string::npos);
}

TEST_CASE("pages on more branches than they need are found") {
  const auto report = verified(good_parts(), [](BundleIndex& index) {
    // Branches to no pages cannot be written: the page of keys gets a branch for each half of its
    // entries.
    const Bytes keys = index.pages[4];
    REQUIRE(keys.size() == 48);
    std::vector<BundlePage> halves;
    for (const auto& [from, count] : {std::pair{0, 16}, std::pair{16, 32}}) {
      const ByteView half =
          ByteView(keys).subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(count));
      halves.push_back({number_of(BundleTable::keys, half, 0), static_cast<std::uint32_t>(half.size()),
                        sha256(half), index.pages[3].size() + static_cast<std::size_t>(from)});
    }
    const Bytes first = encode_branch(std::span(halves).first(1));
    const Bytes second = encode_branch(std::span(halves).last(1));
    index.map.branches[1] = {{halves[0].first, static_cast<std::uint32_t>(first.size()), sha256(first)},
                             {halves[1].first, static_cast<std::uint32_t>(second.size()), sha256(second)}};
    index.pages[1] = first;
    index.pages.insert(index.pages.begin() + 2, second);
  });
  REQUIRE(report.findings.size() == 2);
  CHECK(report.findings.front().reason.find("not on the pages") != std::string::npos);
  CHECK(report.findings.back().reason.find("not on the branches") != std::string::npos);
}

TEST_CASE("frames of a plain bundle that are in another order are found") {
  Parts parts = good_parts();
  const Bytes frames = parts.frames;
  parts.frames.clear();
  for (auto image = parts.images.rbegin(); image != parts.images.rend(); ++image) {
    const ByteView frame =
        ByteView(frames).subspan(static_cast<std::size_t>(image->frame_offset), image->frame_stored);
    parts.frames.resize((parts.frames.size() + 63) / 64 * 64);
    image->frame_offset = parts.frames.size();
    parts.frames.insert(parts.frames.end(), frame.begin(), frame.end());
  }
  const auto report = verified(parts);
  REQUIRE(report.findings.size() == 2);
  CHECK(report.findings.front().reason.find("not in order") != std::string::npos);
}

// The images one behind the other, each as it is or packed.
Parts packed_parts(bool with_zeros, bool with_second_frame) {
  Parts parts = good_parts();
  const Bytes frames = parts.frames;
  parts.profile = BundleProfile::ship;
  parts.frames.clear();
  for (BundleImage& image : parts.images) {
    Bytes frame =
        pack_zstd(ByteView(frames).subspan(static_cast<std::size_t>(image.frame_offset), image.frame_stored));
    // A frame that the library passes over: its magic, the number of its bytes, and these.
    if (with_second_frame) {
      for (const int byte : {0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, int{'x'}})
        frame.push_back(static_cast<std::byte>(byte));
    }
    REQUIRE(frame.size() < image.frame_bytes);
    image.frame_offset = parts.frames.size();
    image.frame_stored = static_cast<std::uint32_t>(frame.size());
    image.frame_digest = sha256(frame);
    image.codec = FrameCodec::zstd;
    parts.frames.insert(parts.frames.end(), frame.begin(), frame.end());
    if (with_zeros) parts.frames.resize((parts.frames.size() + 63) / 64 * 64);
  }
  return parts;
}

TEST_CASE("packed frames have no bytes between them and none within that nothing uses") {
  CHECK(verified(packed_parts(false, false)).findings.empty());
  CHECK(verified(packed_parts(true, false)).findings.size() == 3);
  CHECK(verified(packed_parts(false, true)).findings.size() == 3);
}

TEST_CASE("a packed bundle may name any release of the library, and names one") {
  const auto findings = [](std::vector<std::string> tools) {
    return verified(packed_parts(false, false), [&](BundleIndex& index) { index.map.root.toolchain = tools; })
        .findings.size();
  };
  CHECK(findings({"libzstd 1.5.4", "ptxas of the tests"}) == 0);
  CHECK(findings({"libzstd 9.9", "ptxas of the tests"}) == 0);
  CHECK(findings({"libzstd 1.5.4", "libzstd 9.9", "ptxas of the tests"}) == 1);
  CHECK(findings({"ptxas of the tests"}) == 1);
}

TEST_CASE("a tuning table without rows is a part that nothing uses") {
  Parts parts = good_parts();
  TuningTable table = table_of(measured_row(1));
  parts.tuning = table.encode();
  CHECK(verified(parts).findings.empty());
  parts.tuning = TuningTable().encode();
  CHECK(verified(parts).findings.size() == 1);
}

}  // namespace
}  // namespace cubinet::test
