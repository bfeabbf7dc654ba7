// SPDX-License-Identifier: Apache-2.0
// The table of kernels of a home: compiled entries, bundles and imports in one.
#include "cubin_registry/artifact_fixture.hpp"
#include "local/home_layout.hpp"

#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/kernel_table/row_codec.hpp>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

// A compiled cubin whose template declared a row.
Cubin cubin_with_row(int number, std::string_view build = "build") {
  const Cubin plain = cubin_of(number, build);
  auto record = std::make_shared<CubinRecord>(*plain.record);
  KernelRow row;
  row.selector.head_dim_qk = static_cast<std::uint16_t>(8 * number);
  row.implementation = "attention_decode";
  record->row = encode_row(row);
  return {record, plain.image};
}

TEST_CASE("the rows of compiled entries, bundles and imports are in one table, each with its version") {
  HomeFixture fixture;
  const auto registry = fixture.open();
  REQUIRE(publishes(*registry, cubin_with_row(1)));
  REQUIRE(publishes(*registry, cubin_of(2)));  // declares none
  const fs::path path = fixture.folder / "kernels.bundle";
  const auto files = posix_file_system();
  REQUIRE(create_bundle(path, {cubin_with_row(3)}, {"shipped", 5}, files));
  REQUIRE(import_bundle(**Bundle::open(path, files), *registry));
  const ArtifactFolder folder(fixture.folder / "published", 0, 3);
  REQUIRE(folder.publish(*registry));
  const auto check = [&](Home& with) {
    const auto rows = rows_of(with);
    REQUIRE(rows.size() == 4);
    CHECK(rows[0].implementation == "attention_decode");
    CHECK(rows[0].digest == cubin_of(1).record->digest);
    CHECK(rows[1].source == folder.path);
    CHECK(rows[1].version == 1);
    CHECK(rows[3].version == 5);
  };
  check(*registry);
  check(*fixture.open(HomeOptions::Access::read_only));
  CHECK(registry->repair()->entries == 3);
  check(*registry);
  write_file(fixture.home / "index.sqlite", Bytes(9000, std::byte{7}));
  check(*fixture.open(HomeOptions::Access::read_only));  // from the files
  check(*fixture.open());                                // made anew
}

TEST_CASE("a row comes and goes with its entry") {
  HomeFixture fixture;
  const auto registry = fixture.open();
  REQUIRE(publishes(*registry, cubin_with_row(1, "old")));
  REQUIRE(publishes(*registry, cubin_with_row(1, "new")));
  CHECK(rows_of(*registry).size() == 2);
  CHECK(*registry->remove({cubin_with_row(1, "old").record}));
  const auto left = registry->rows();
  REQUIRE(left);
  REQUIRE((*left)->size() == 1);
  CHECK((*left)->front().record->fingerprint == fake_fingerprint("new"));
  fs::remove(HomeLayout(fixture.home).cubin(cubin_of(1).record->digest));
  CHECK(registry->sweep());
  CHECK(rows_of(*registry).empty());
}

TEST_CASE("an entry whose row is not in the index yet is not missed") {
  HomeFixture fixture;
  const auto registry = fixture.open();
  REQUIRE(publishes(*registry, cubin_with_row(1)));
  // Published by somebody who could not write the index.
  HomeFixture other;
  REQUIRE(publishes(*other.open(), cubin_with_row(2)));
  for (const char* below : {"cubins", "records"})
    fs::copy(other.home / below, fixture.home / below, fs::copy_options::recursive);
  CHECK(rows_of(*fixture.open(HomeOptions::Access::read_only)).size() == 2);
  CHECK(rows_of(*registry).size() == 2);
}

TEST_CASE("the rows are the same object for as long as nothing changes") {
  HomeFixture fixture;
  const auto registry = fixture.open();
  REQUIRE(publishes(*registry, cubin_with_row(1)));
  const ArtifactFolder folder(fixture.folder / "published", 0, 3);
  REQUIRE(folder.publish(*registry));
  const auto rows = *registry->rows();
  CHECK(*registry->rows() == rows);
  REQUIRE(publishes(*registry, cubin_of(5)));  // declares none
  CHECK(*registry->rows() == rows);
  fs::rename(folder.path, fixture.folder / "away");
  CHECK((*registry->rows())->size() == 1);
  fs::rename(fixture.folder / "away", folder.path);
  CHECK((*registry->rows())->size() == rows->size());
  REQUIRE(publishes(*fixture.open(), cubin_with_row(2)));
  CHECK((*registry->rows())->size() == rows->size() + 1);
}

}  // namespace
}  // namespace cubinet::test
