// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_index.hpp"
#include "bundle/bundle_pack.hpp"
#include "bundle/bundle_verify.hpp"
#include "cubin_registry/bundle_fixture.hpp"
#include "support/ok.hpp"

#include <map>
#include <set>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

struct CombineFixture {
  TempDir folder;

  std::shared_ptr<Bundle> bundle_of(const char* name, const std::vector<Cubin>& cubins,
                                    BundleOptions options) {
    REQUIRE(create_bundle(folder / name, cubins, options));
    return open(name);
  }
  std::shared_ptr<Bundle> open(const char* name) {
    auto bundle = Bundle::open(folder / name);
    REQUIRE_MESSAGE(bundle.has_value(), why_not(bundle));
    return *bundle;
  }
  std::shared_ptr<Bundle> combined(const BundleParts& parts, const BundleOptions& options) {
    const auto written = combine_bundles(folder / "combined", parts, options);
    REQUIRE_MESSAGE(written.has_value(), why_not(written));
    return open("combined");
  }
};

void check_holds(Bundle& bundle, const std::vector<Cubin>& cubins) {
  CHECK(bundle.list()->size() == cubins.size());
  for (const Cubin& cubin : cubins) {
    const auto read = bundle.read(cubin.record);
    REQUIRE_MESSAGE(read.has_value(), why_not(read));
    CHECK(*read->image == *cubin.image);
  }
  const auto report = bundle.verify();
  CHECK_MESSAGE(report->findings.empty(), report->findings.front().reason);
}

// Returns the digests of the bundle's frames.
std::set<Sha256Digest> frames_of(const Bundle& bundle) {
  std::set<Sha256Digest> frames;
  const auto images = bundle.pack().images();
  for (const BundleImage& image : *images)
    frames.insert(image.frame_digest);
  return frames;
}

std::vector<Cubin> part_of(const std::vector<Cubin>& cubins, std::size_t from, std::size_t to) {
  return {cubins.begin() + static_cast<std::ptrdiff_t>(from),
          cubins.begin() + static_cast<std::ptrdiff_t>(to)};
}

TEST_CASE("plain bundles are merged to the bytes of the bundle of all, and a part to those of the part") {
  CombineFixture fixture;
  const std::vector<Cubin> all = cubins_up_to(6);
  const auto first = fixture.bundle_of("first", part_of(all, 0, 4), {"a", 1});
  const auto second = fixture.bundle_of("second", part_of(all, 2, 6), {"b", 7});
  const BundleOptions options{"all", 8};
  check_holds(*fixture.combined({{first, *first->list()}, {second, *second->list()}}, options), all);
  fixture.bundle_of("expected", all, options);
  CHECK(read_file(fixture.folder / "combined") == read_file(fixture.folder / "expected"));
  const auto whole = fixture.open("expected");
  CubinRecords wanted = *whole->list();
  std::erase_if(wanted, [&](const auto& record) { return record->digest != all[3].record->digest; });
  check_holds(*fixture.combined({{whole, wanted}}, options), {all[3]});
}

TEST_CASE("frames are copied as they are where the dictionary is the same, and packed anew where it is not") {
  CombineFixture fixture;
  const std::vector<Cubin> all = alike_cubins(150, 26000);
  BundleOptions options{"all", 1};
  options.profile = BundleProfile::ship;
  const auto large = fixture.bundle_of("large", part_of(all, 0, 140), options);
  const auto small = fixture.bundle_of("small", part_of(all, 140, 150), options);
  REQUIRE(large->pack().map().dictionary_bytes > 0);
  REQUIRE(small->pack().map().dictionary_bytes == 0);
  const auto merged = fixture.combined({{large, *large->list()}, {small, *small->list()}}, options);
  check_holds(*merged, all);
  CHECK(merged->pack().map().dictionary == large->pack().map().dictionary);
  const auto frames = frames_of(*merged);
  for (const Sha256Digest& digest : frames_of(*large))
    CHECK(frames.contains(digest));
  std::size_t kept = 0;
  for (const Sha256Digest& digest : frames_of(*small))
    kept += frames.contains(digest) ? 1U : 0U;
  CHECK(kept == 0);
}

TEST_CASE("of a group that is not wanted whole the rest is packed anew") {
  CombineFixture fixture;
  const std::vector<Cubin> all = alike_cubins(40, 3000);
  BundleOptions options{"all", 1};
  options.profile = BundleProfile::archive;
  const auto whole = fixture.bundle_of("whole", all, options);
  CubinRecords wanted = *whole->list();
  const Sha256Digest left_out = all[0].record->digest;
  std::erase_if(wanted, [&](const auto& record) { return record->digest == left_out; });
  const auto part = fixture.combined({{whole, wanted}}, options);
  check_holds(*part, part_of(all, 1, 40));
  const auto before = frames_of(*whole);
  std::size_t copied = 0;
  for (const Sha256Digest& digest : frames_of(*part))
    copied += before.contains(digest) ? 1U : 0U;
  CHECK(before.size() == 3);
  CHECK(copied == 2);
}

TEST_CASE("a bundle changes its profile by being combined") {
  CombineFixture fixture;
  const std::vector<Cubin> all = alike_cubins(20, 3000);
  const auto plain = fixture.bundle_of("plain", all, {"all", 1});
  BundleOptions options{"all", 1};
  options.profile = BundleProfile::archive;
  const auto packed = fixture.combined({{plain, *plain->list()}}, options);
  check_holds(*packed, all);
  CHECK(packed->root().file_bytes < plain->root().file_bytes * 2 / 3);
  fs::rename(fixture.folder / "combined", fixture.folder / "packed");
  const auto opened = fixture.open("packed");
  check_holds(*fixture.combined({{opened, *opened->list()}}, {"all", 1}), all);
  CHECK(read_file(fixture.folder / "combined") == read_file(fixture.folder / "plain"));
}

// Replaces an image's frame by bytes of the same size that are not a frame, and updates every
// digest.
void spoil_first_frame(const fs::path& path) {
  const auto bundle = ok(Bundle::open(path));
  const BundlePack& pack = bundle->pack();
  Bytes bytes = read_file(path);
  std::vector<BundleEntry> entries;
  REQUIRE(pack.each_page_of_records([&](ByteView page) { return decode_entries(pack, page, entries); }));
  CubinRecords records;
  std::map<Sha256Digest, BundleImage> images;
  for (BundleEntry& entry : entries) {
    if (entry.image.frame_offset == 0) {
      const auto at = static_cast<std::size_t>(pack.map().frames_offset) + entry.image.frame_stored / 2;
      const auto from = static_cast<std::size_t>(pack.map().frames_offset);
      if (images.empty() || bytes[at] == read_file(path)[at]) bytes[at] ^= std::byte{0xff};
      entry.image.frame_digest = sha256(ByteView(bytes).subspan(from, entry.image.frame_stored));
    }
    records.push_back(entry.record);
    images.emplace(entry.image.digest, entry.image);
  }
  std::vector<BundleImage> in_order;
  for (const auto& [digest, image] : images)
    in_order.push_back(image);
  const Bytes dictionary = ok(pack.read_dictionary());
  const BundleIndex index =
      ok(make_index(pack.map().root.options, records, in_order, dictionary, {}, pack.map().frames_bytes));
  Bytes made = index.root;
  for (const Bytes& page : index.pages)
    made.insert(made.end(), page.begin(), page.end());
  made.insert(made.end(), dictionary.begin(), dictionary.end());
  made.resize(static_cast<std::size_t>(index.map.frames_offset));
  made.insert(made.end(), bytes.begin() + static_cast<std::ptrdiff_t>(pack.map().frames_offset), bytes.end());
  write_file(path, made);
}

TEST_CASE(
    "a frame that has its digest and cannot be unpacked is not copied, and the image of another bundle is "
    "taken") {
  for (const BundleProfile profile : {BundleProfile::ship, BundleProfile::archive}) {
    CombineFixture fixture;
    BundleOptions options{"all", 1};
    options.profile = profile;
    const std::vector<Cubin> cubins = alike_cubins(6, 3000);
    const auto sound = fixture.bundle_of("sound", cubins, options);
    fixture.bundle_of("bad", cubins, options);
    spoil_first_frame(fixture.folder / "bad");
    const auto bad = fixture.open("bad");
    REQUIRE_FALSE(ok(bad->verify()).findings.empty());
    const auto alone = combine_bundles(fixture.folder / "combined", {{bad, ok(bad->list())}}, options);
    CHECK(alone.error().code == ErrorCode::corruption);
    CHECK(alone.error().message.find("bad") != std::string::npos);
    CHECK_FALSE(fs::exists(fixture.folder / "combined"));
    check_holds(*fixture.combined({{bad, ok(bad->list())}, {sound, ok(sound->list())}}, options), cubins);
    check_holds(*fixture.combined({{sound, ok(sound->list())}, {bad, ok(bad->list())}}, options), cubins);
  }
}

TEST_CASE("bundles that contradict each other, and damaged ones, are not combined, and no file is left") {
  CombineFixture fixture;
  const auto first = fixture.bundle_of("first", {cubin_of(1)}, {"a", 1});
  Cubin other = cubin_of(2);
  auto record = std::make_shared<CubinRecord>(*other.record);
  record->identity = cubin_of(1).record->identity;
  other.record = record;
  const auto second = fixture.bundle_of("second", {other}, {"a", 1});
  const auto combined = combine_bundles(fixture.folder / "combined",
                                        {{first, *first->list()}, {second, *second->list()}}, {"a", 2});
  CHECK(combined.error().code == ErrorCode::invalid_argument);
  for (const BundleProfile profile : {BundleProfile::plain, BundleProfile::ship}) {
    BundleOptions options{"a", 1};
    options.profile = profile;
    fixture.bundle_of("damaged", alike_cubins(1, 3000), options);
    Bytes bytes = read_file(fixture.folder / "damaged");
    const auto sound = fixture.open("damaged");
    bytes[static_cast<std::size_t>(sound->pack().map().frames_offset)] ^= std::byte{1};
    write_file(fixture.folder / "damaged", bytes);
    const auto damaged = fixture.open("damaged");
    const auto written = combine_bundles(fixture.folder / "combined", {{damaged, *damaged->list()}}, options);
    CHECK(written.error().code == ErrorCode::corruption);
  }
  for (const auto& entry : fs::directory_iterator(fixture.folder / "."))
    CHECK(entry.path().filename() != "combined");
  CHECK(std::distance(fs::directory_iterator(fixture.folder / "."), {}) == 3);
}

}  // namespace
}  // namespace cubinet::test
