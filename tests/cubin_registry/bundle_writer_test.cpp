// SPDX-License-Identifier: Apache-2.0
#include "cubin_registry/artifact_fixture.hpp"
#include "cubin_registry/bundle_fixture.hpp"

namespace cubinet::test {
namespace {

TEST_CASE("what a store holds is bundled to the same bytes as what is given in memory") {
  BundleFixture fixture;
  HomeFixture home;
  const auto registry = home.open();
  for (const Cubin& cubin : cubins_up_to(4))
    REQUIRE(publishes(*registry, cubin));
  REQUIRE(create_bundle(fixture.path, *registry, *registry->list(), {"test", 3}, fixture.files));
  const Bytes of_store = read_file(fixture.path);
  fixture.create(cubins_up_to(4));
  CHECK(read_file(fixture.path) == of_store);
}

TEST_CASE("imported kernels serve out of a bundle as out of the import, rows and names included") {
  BundleFixture fixture;
  HomeFixture home;
  const auto registry = home.open();
  const ArtifactFolder folder(home.folder / "published", 0, 6);
  REQUIRE(folder.publish(*registry));
  for (const BundleProfile profile : {BundleProfile::plain, BundleProfile::ship}) {
    const BundleOptions options{"published", 7, 0, 0, profile};
    REQUIRE(create_bundle(fixture.path, *registry, *registry->list(), options, fixture.files));
    const auto bundle = fixture.open();
    const auto rows = *bundle->rows();
    REQUIRE(rows->size() == 5);
    for (const StoredRow& stored : *rows) {
      const auto expected =
          std::find_if(folder.content.rows.begin(), folder.content.rows.end(),
                       [&](const KernelRow& row) { return row.function_name == stored.row->function_name; });
      REQUIRE(expected != folder.content.rows.end());
      KernelRow row = *expected;
      row.version = 7;
      row.source = fixture.path.native();
      // Columns that are off are no part of a kernel.
      std::erase_if(row.extras, [](const ExtraColumn& column) { return column.is_off(); });
      CHECK(*stored.row == row);
      CHECK(*bundle->read(stored.record)->image == artifact_image(std::stoi(row.function_name.substr(7))));
    }
    const auto plain = *bundle->find_function("kernel_5");
    REQUIRE(plain.size() == 1);
    CHECK(plain.front()->identity == registry->find_function("kernel_5")->front()->identity);
    CHECK(bundle->verify()->findings.empty());
  }
}

TEST_CASE("an image without bytes is not bundled") {
  BundleFixture fixture;
  Cubin empty = cubin_of(1);
  auto record = std::make_shared<CubinRecord>(*empty.record);
  record->size = 0;
  record->digest = sha256({});
  const auto created = create_bundle(fixture.path, {Cubin{record, std::make_shared<const Bytes>()}},
                                     {"test", 3}, fixture.files);
  CHECK(created.error().code == ErrorCode::invalid_argument);
  CHECK(created.error().message.find("is empty") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(fixture.path));
}

TEST_CASE("a store whose image is gone gives no bundle, and the error says what to do") {
  BundleFixture fixture;
  HomeFixture home;
  const auto registry = home.open();
  REQUIRE(publishes(*registry, cubin_of(1)));
  const CubinRecords records = *registry->list();
  REQUIRE(registry->remove(records));
  const auto created = create_bundle(fixture.path, *registry, records, {"test", 3}, fixture.files);
  REQUIRE_FALSE(created);
  CHECK(created.error().code == ErrorCode::corruption);
  CHECK_FALSE(created.error().remedy.empty());
  CHECK(std::filesystem::is_empty(fixture.folder / "."));
}

// Pins the format: a change of these bytes needs a new version.
TEST_CASE("the bytes of a small bundle are those of version 5, with records of version 5") {
  BundleFixture fixture;
  fixture.create({cubin_of(1), cubin_of(2)}, {"golden", 1});
  CHECK(sha256(read_file(fixture.path)).to_hex() ==
        "da28ec65f6d2ffe4eea85966f1fe15ec48676c1b58e7b4afd89d4a2f8adea4ce");
}

}  // namespace
}  // namespace cubinet::test
