// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_pack.hpp"
#include "cubin_registry/bundle_fixture.hpp"

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

std::shared_ptr<Bundle> bundle_of(const fs::path& path, std::vector<Cubin> cubins) {
  REQUIRE(create_bundle(path, std::move(cubins), {"import", 4}));
  auto bundle = Bundle::open(path);
  REQUIRE(bundle);
  return *bundle;
}

Cubin as_imported(const Cubin& cubin) {
  auto record = std::make_shared<CubinRecord>(*cubin.record);
  record->origin = CubinOrigin::bundle;
  record->version = 4;
  return {record, cubin.image};
}

TEST_CASE("a bundle is imported into an empty registry, and a second time changes nothing") {
  HomeFixture home;
  auto registry = home.open();
  const auto bundle = bundle_of(home.folder / "b", {cubin_of(1), cubin_of(2)});
  auto report = import_bundle(*bundle, *registry);
  REQUIRE(report);
  CHECK(report->imported == 2);
  CHECK(report->present == 0);
  CHECK(report->refused.empty());
  CHECK(serves(*registry, as_imported(cubin_of(1))));
  CHECK(serves(*registry, as_imported(cubin_of(2))));
  report = import_bundle(*bundle, *registry);
  CHECK(report->imported == 0);
  CHECK(report->present == 2);
}

TEST_CASE("a group of an archive is read once for all of its images") {
  HomeFixture home;
  auto registry = home.open();
  const auto path = home.folder / "archive";
  REQUIRE(create_bundle(path, cubins_up_to(40), {"import", 4, 0, 0, BundleProfile::archive}));
  const auto source = std::make_shared<MemorySource>(read_file(path));
  const auto bundle = *open_bundle(source, {});
  source->take_reads();
  const auto report = import_bundle(*bundle, *registry);
  REQUIRE(report);
  CHECK(report->imported == 40);
  const auto reads = source->take_reads();
  CHECK(std::count_if(reads.begin(), reads.end(), [&](const auto& read) {
          const BundleMap& map = bundle->pack().map();
          return read.first >= map.frames_offset && read.first + 1 < map.root.file_bytes;
        }) == 3);  // reads of 16, 16 and 8 frames; the last byte is read again with the bytes after it
}

TEST_CASE("an import mends a damaged entry and leaves a local build alone") {
  HomeFixture home;
  auto registry = home.open();
  const auto bundle = bundle_of(home.folder / "b", {cubin_of(1), cubin_of(2)});
  REQUIRE(publishes(*registry, cubin_of(1)));
  write_file(home.only_file("cubins"), Bytes(5));
  REQUIRE(publishes(*registry, cubin_of(2)));
  const auto report = import_bundle(*bundle, *registry);
  REQUIRE(report);
  CHECK(report->present == 2);
  CHECK(serves(*registry, as_imported(cubin_of(1))));
  CHECK(serves(*registry, cubin_of(2)));
}

// Returns a build with the identity of cubin_of(1) and other bytes.
Cubin another_image() {
  Cubin cubin = cubin_of(2);
  auto record = std::make_shared<CubinRecord>(*cubin.record);
  record->identity = cubin_of(1).record->identity;
  cubin.record = record;
  return cubin;
}

TEST_CASE("a build of other bytes than the same one that is there is refused, unless it is to replace it") {
  for (const bool from_bundle : {false, true}) {
    HomeFixture home;
    auto registry = home.open();
    if (from_bundle) {
      REQUIRE(import_bundle(*bundle_of(home.folder / "first", {cubin_of(1)}), *registry));
    } else {
      REQUIRE(publishes(*registry, cubin_of(1)));
    }
    const auto bundle = bundle_of(home.folder / "b", {another_image(), cubin_of(3)});
    auto report = import_bundle(*bundle, *registry);
    REQUIRE(report);
    CHECK(report->imported == 1);
    REQUIRE(report->refused.size() == 1);
    CHECK(report->refused[0].kind == StoreFinding::Kind::conflicting_build);
    for (const Cubin& cubin : {cubin_of(1), another_image()})
      CHECK(report->refused[0].reason.find(cubin.record->digest.to_hex()) != std::string::npos);
    CHECK(serves(*registry, from_bundle ? as_imported(cubin_of(1)) : cubin_of(1)));
    report = import_bundle(*bundle, *registry, OnConflict::replace);
    REQUIRE(report);
    CHECK(report->refused.empty());
    CHECK(serves(*registry, as_imported(another_image())));
    CHECK(registry->list()->size() == 2);
  }
}

TEST_CASE("damaged images are left out and reported, the others are in") {
  HomeFixture home;
  auto registry = home.open();
  const fs::path path = home.folder / "b";
  bundle_of(path, {cubin_of(1), cubin_of(2), cubin_of(3)});
  Bytes bytes = read_file(path);
  bytes.back() ^= std::byte{1};
  write_file(path, bytes);
  const auto bundle = *Bundle::open(path);
  const auto report = import_bundle(*bundle, *registry);
  REQUIRE(report);
  CHECK(report->imported == 2);
  REQUIRE(report->refused.size() == 1);
  CHECK(report->refused.front().kind == StoreFinding::Kind::damaged_cubin);
  CHECK(registry->stats()->entries == 2);
}

// Returns the bundle with the keys of the first two kernels swapped and every digest updated.
Bytes with_swapped_keys(const BundlePack& pack, Bytes bytes) {
  BundleMap map = pack.map();
  const auto put = [&](std::uint64_t offset, const Bytes& part) {
    std::copy(part.begin(), part.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset));
  };
  BundlePage& branch = map.branches[static_cast<std::size_t>(BundleTable::keys)].front();
  auto pages = ok(pack.pages_of(BundleTable::keys, branch));
  Bytes keys = *ok(pack.read_page(BundleTable::keys, pages.front()));
  std::swap_ranges(keys.begin() + 8, keys.begin() + 16, keys.begin() + 24);
  put(pages.front().offset, keys);
  pages.front().digest = sha256(keys);
  for (BundlePage& page : pages)
    page.offset -= map.pages_offset;
  const Bytes branch_bytes = encode_branch(pages);
  put(branch.offset, branch_bytes);
  branch.digest = sha256(branch_bytes);
  put(0, encode_root(map));
  return bytes;
}

TEST_CASE("a bundle whose parts contradict each other, or with bytes that nothing uses, is refused whole") {
  HomeFixture home;
  auto registry = home.open();
  const fs::path path = home.folder / "b";
  const auto whole = bundle_of(path, alike_cubins(3, 100));
  const Bytes bytes = read_file(path);
  Bytes longer = bytes;
  longer.push_back(std::byte{'x'});
  Bytes shorter = bytes;
  shorter.pop_back();
  Bytes between = bytes;  // frames begin at multiples of 64
  const auto images = ok(whole->pack().images());
  const BundleImage first = *std::min_element(images.begin(), images.end(), [](const auto& a, const auto& b) {
    return a.frame_offset < b.frame_offset;
  });
  REQUIRE(first.frame_stored % 64 != 0);
  between[static_cast<std::size_t>(whole->pack().map().frames_offset + first.frame_stored)] = std::byte{1};
  for (const Bytes& damaged : {longer, shorter, between, with_swapped_keys(whole->pack(), bytes)}) {
    const auto bundle = ok(open_bundle(std::make_shared<MemorySource>(damaged), {}));
    CHECK(ok(bundle->verify()).findings.size() >= 1);
    const auto report = import_bundle(*bundle, *registry);
    REQUIRE_FALSE(report.has_value());
    CHECK(report.error().code == ErrorCode::corruption);
    CHECK(report.error().message.starts_with("bundle 'memory.bundle': "));
    CHECK_FALSE(report.error().remedy.empty());
    CHECK(registry->stats()->entries == 0);
  }
}

TEST_CASE("a record that lies about its image is refused") {
  HomeFixture home;
  auto registry = home.open();
  const auto lie = [](int number, const std::function<void(CubinRecord&)>& change) {
    Cubin cubin = cubin_of(number);
    auto record = std::make_shared<CubinRecord>(*cubin.record);
    change(*record);
    return Cubin{record, cubin.image};
  };
  const Cubin other_target = lie(1, [](CubinRecord& record) {
    record.target = {8, 0, TargetKind::baseline};
    record.identity = identify(spec_of(1), record.target);
  });
  const Cubin other_symbol =
      lie(2, [](CubinRecord& record) { record.entry_points.front().symbol = "absent"; });
  const Bytes noise(500, std::byte{7});
  const Cubin no_cubin = lie(3, [&](CubinRecord& record) {
    record.digest = sha256(noise);
    record.size = noise.size();
  });
  const auto bundle = bundle_of(
      home.folder / "b",
      {other_target, other_symbol, cubin_of(4), {no_cubin.record, std::make_shared<const Bytes>(noise)}});
  const auto report = import_bundle(*bundle, *registry);
  REQUIRE(report);
  CHECK(report->imported == 1);
  CHECK(report->refused.size() == 3);
  CHECK(registry->stats()->entries == 1);
  CHECK(serves(*registry, as_imported(cubin_of(4))));
}

TEST_CASE("an import into a registry that cannot be written says so") {
  HomeFixture home;
  home.open();
  const auto registry = home.open(HomeOptions::Access::read_only);
  const auto report = import_bundle(*bundle_of(home.folder / "b", {cubin_of(1)}), *registry);
  CHECK(report.error().code == ErrorCode::unavailable);
}

}  // namespace
}  // namespace cubinet::test
