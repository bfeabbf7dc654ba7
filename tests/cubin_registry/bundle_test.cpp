// SPDX-License-Identifier: Apache-2.0
#include "cubin_registry/home_fixture.hpp"

#include <cubinet/cubin_registry/bundle.hpp>

#include <sys/stat.h>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

struct BundleFixture {
  TempDir folder;
  fs::path path = folder / "kernels.bundle";
  std::shared_ptr<FileSystem> files = posix_file_system();

  void create(std::vector<Cubin> cubins, BundleOptions options = {"test", 3}) {
    const auto created = create_bundle(path, std::move(cubins), options, files);
    REQUIRE_MESSAGE(created.has_value(), created.error().to_line());
  }
  std::shared_ptr<Bundle> open() {
    auto bundle = Bundle::open(path, files);
    REQUIRE_MESSAGE(bundle.has_value(), bundle.error().to_line());
    return *bundle;
  }
};

TEST_CASE("a bundle gives back what it was made of, marked with its bundle") {
  BundleFixture fixture;
  fixture.create({cubin_of(1), cubin_of(2, "a"), cubin_of(2, "b")});
  const auto bundle = fixture.open();
  CHECK(bundle->options().name == "test");
  CHECK(bundle->options().version == 3);
  CHECK(bundle->records().size() == 3);
  CHECK(bundle->find(cubin_of(2).record->identity.kernel())->size() == 2);
  CHECK(bundle->find(cubin_of(3).record->identity.kernel())->empty());
  const auto record = bundle->find(cubin_of(1).record->identity.kernel())->front();
  CHECK(record->origin == CubinOrigin::bundle);
  CHECK(record->version == 3);
  const auto loaded = bundle->load(record);
  REQUIRE((loaded && *loaded));
  CHECK(*(*loaded)->image == *cubin_of(1).image);
  const auto report = bundle->verify();
  CHECK(report->findings.empty());
  CHECK(report->entries == 3);
  CHECK(bundle->load(cubin_of(9).record).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("the bytes of a bundle do not depend on the order or the repetition of its entries") {
  BundleFixture fixture;
  fixture.create({cubin_of(1), cubin_of(2), cubin_of(3)});
  const Bytes first = read_file(fixture.path);
  fixture.create({cubin_of(3), cubin_of(1), cubin_of(2), cubin_of(1)});
  CHECK(read_file(fixture.path) == first);
}

TEST_CASE("a name of several lines, and a record that could not be read back, make no bundle") {
  BundleFixture fixture;
  for (const char* name : {"a\nb", "\x1b[31m", "a\tb"}) {
    const auto created = create_bundle(fixture.path, {cubin_of(1)}, {name, 1}, fixture.files);
    REQUIRE_FALSE(created);
    CHECK(created.error().code == ErrorCode::invalid_argument);
    CHECK(created.error().message.find(name) == std::string::npos);
  }
  Cubin cubin = cubin_of(1);
  auto record = std::make_shared<CubinRecord>(*cubin.record);
  record->warnings.assign(kMaximumRecordBytes, 'w');
  cubin.record = record;
  const auto created = create_bundle(fixture.path, {cubin}, {"name", 1}, fixture.files);
  REQUIRE_FALSE(created);
  CHECK(created.error().code == ErrorCode::invalid_argument);
  CHECK_FALSE(fs::exists(fixture.path));
}

TEST_CASE("equal images are stored once") {
  BundleFixture fixture;
  fixture.create({cubin_of(1, "a")});
  const auto one = fs::file_size(fixture.path);
  fixture.create({cubin_of(1, "a"), cubin_of(1, "b"), cubin_of(1, "c")});
  CHECK(fs::file_size(fixture.path) < one + 2 * cubin_of(1).image->size());
  CHECK(fixture.open()->verify()->bytes == cubin_of(1).image->size());
}

TEST_CASE("a bundle answers for its kernels by key, by function and as a list") {
  BundleFixture fixture;
  fixture.create({cubin_of(3), cubin_of(1), cubin_of(2)});
  const auto bundle = fixture.open();
  const CubinRecord record = *cubin_of(2).record;
  REQUIRE(bundle->find_key(record.identity.key())->size() == 1);
  CHECK(bundle->find_key(record.identity.key())->front()->identity == record.identity);
  CHECK(bundle->find_function(record.entry_points.front().symbol)->size() == 3);
  CHECK(bundle->find_function("nothing")->empty());
  const auto listed = *bundle->list();
  REQUIRE(listed.size() == 3);
  CHECK(listed[0]->identity.key() < listed[1]->identity.key());
  CHECK(listed[1]->identity.key() < listed[2]->identity.key());
  CHECK((*bundle->rows())->empty());
  CHECK(bundle->description().kind == StoreKind::bundle);
  CHECK(bundle->description().place == fixture.path);
}

TEST_CASE("an empty bundle is a bundle") {
  BundleFixture fixture;
  fixture.create({}, {});
  CHECK(fixture.open()->records().empty());
  CHECK(fixture.open()->verify()->findings.empty());
}

TEST_CASE("what contradicts itself is not bundled, and no file is left") {
  BundleFixture fixture;
  Cubin other = cubin_of(2);
  auto record = std::make_shared<CubinRecord>(*other.record);
  record->identity = cubin_of(1).record->identity;
  other.record = record;
  for (const std::vector<Cubin>& cubins :
       {std::vector<Cubin>{cubin_of(1), other},
        std::vector<Cubin>{Cubin{cubin_of(1).record, cubin_of(2).image}}, std::vector<Cubin>{Cubin{}}}) {
    const auto created = create_bundle(fixture.path, cubins, {}, fixture.files);
    REQUIRE_FALSE(created);
    CHECK(created.error().code == ErrorCode::invalid_argument);
    CHECK(fs::is_empty(fixture.folder.path()));
  }
}

TEST_CASE("every flipped byte of a bundle is found, and no wrong image given out" *
          doctest::test_suite("loop")) {
  BundleFixture fixture;
  const std::vector<Cubin> cubins = {cubin_of(1), cubin_of(2)};
  fixture.create(cubins);
  const Bytes whole = read_file(fixture.path);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    Bytes damaged = whole;
    damaged[i] ^= static_cast<std::byte>(1U << (i % 8));
    write_file(fixture.path, damaged);
    const auto bundle = Bundle::open(fixture.path, fixture.files);
    if (!bundle) continue;
    REQUIRE_FALSE((*bundle)->verify()->findings.empty());
    for (const Cubin& cubin : cubins) {
      const auto found = (*bundle)->find(cubin.record->identity.kernel());
      REQUIRE(found->size() == 1);
      const auto loaded = (*bundle)->read(found->front());
      REQUIRE((!loaded || *loaded->image == *cubin.image));
    }
  }
}

TEST_CASE("every truncation of a bundle is found, and what is whole can still be loaded" *
          doctest::test_suite("loop")) {
  BundleFixture fixture;
  fixture.create({cubin_of(1), cubin_of(2)});
  const Bytes whole = read_file(fixture.path);
  std::size_t partly_usable = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_file(fixture.path, ByteView(whole).first(size));
    const auto bundle = Bundle::open(fixture.path, fixture.files);
    if (!bundle) continue;
    const auto report = (*bundle)->verify();
    REQUIRE_FALSE(report->findings.empty());
    partly_usable += report->bytes > 0 ? 1U : 0U;
  }
  CHECK(partly_usable > 0);
  Bytes longer = whole;
  longer.push_back(std::byte{0});
  write_file(fixture.path, longer);
  REQUIRE(fixture.open()->verify()->findings.size() == 1);
  CHECK(fixture.open()->verify()->findings.front().kind == StoreFinding::Kind::stray_file);
}

TEST_CASE("a bundle replaced or cut off while it is open gives errors, not wrong bytes") {
  BundleFixture fixture;
  fixture.create({cubin_of(1)});
  const auto bundle = fixture.open();
  const auto record = bundle->records().front();
  fixture.create({cubin_of(4), cubin_of(5)});
  CHECK(bundle->read(record).error().code == ErrorCode::corruption);
  CHECK_FALSE(*bundle->load(record));
  CHECK_FALSE(bundle->verify()->findings.empty());
  fs::resize_file(fixture.path, 0);
  CHECK(bundle->read(record).error().code == ErrorCode::corruption);
  fs::remove(fixture.path);
  CHECK(bundle->read(record).error().code == ErrorCode::not_found);
  CHECK_FALSE(*bundle->load(record));
}

TEST_CASE("what is no bundle is refused") {
  BundleFixture fixture;
  CHECK(Bundle::open(fixture.path, fixture.files).error().code == ErrorCode::not_found);
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, std::size_t{56}, std::size_t{5000}}) {
    write_file(fixture.path, Bytes(size));
    const auto bundle = Bundle::open(fixture.path, fixture.files);
    REQUIRE_FALSE(bundle);
    CHECK(bundle.error().code == ErrorCode::corruption);
    CHECK(bundle.error().message.find("kernels.bundle") != std::string::npos);
  }
  fs::remove(fixture.path);
  fs::create_directory(fixture.path);
  CHECK_FALSE(Bundle::open(fixture.path, fixture.files).has_value());
  fs::remove(fixture.path);
  REQUIRE(::mkfifo(fixture.path.c_str(), 0600) == 0);
  CHECK_FALSE(Bundle::open(fixture.path, fixture.files).has_value());
}

// Pins the format: a change of these bytes needs a new version.
TEST_CASE("the bytes of a small bundle are those of version 1, with records of version 4") {
  BundleFixture fixture;
  fixture.create({cubin_of(1), cubin_of(2)}, {"golden", 1});
  CHECK(sha256(read_file(fixture.path)).to_hex() ==
        "2ba171bb7858aa3cd2d17fa160ad4ca471ed98293543ea126932bb70a9167203");
}

}  // namespace
}  // namespace cubinet::test
