// SPDX-License-Identifier: Apache-2.0
#include "cubin_registry/bundle_fixture.hpp"
#include "support/measured_row.hpp"

#include <cubinet/cubin_registry/row_table.hpp>

namespace cubinet::test {
namespace {

// A store that a program may add: it has builds and no rows.
class EmptyStore final : public WritableStore {
 public:
  const StoreDescription& description() const override { return description_; }
  Result<CubinRecords> find(const KernelId&) override { return CubinRecords(); }
  Result<CubinRecords> find_key(KernelKey) override { return CubinRecords(); }
  Result<CubinRecords> find_function(std::string_view) override { return CubinRecords(); }
  Result<CubinRecords> list() override { return CubinRecords(); }
  Result<std::optional<Cubin>> load(std::shared_ptr<const CubinRecord>) override {
    return std::optional<Cubin>();
  }
  Result<void> publish(const Cubin&) override {
    ++published;
    return {};
  }
  Result<std::uint64_t> remove(const CubinRecords&) override { return std::uint64_t{0}; }
  Result<std::unique_ptr<BuildLock>> lock_for_build(const KernelIdentity&, const BuildFingerprint&) override {
    return std::unique_ptr<BuildLock>();
  }

  int published = 0;

 private:
  StoreDescription description_{.kind = "empty", .writable = true};
};

// Rows without measurements.
class BareTable final : public RowTable {
 public:
  Result<std::shared_ptr<const StoredRows>> rows() override { return std::make_shared<const StoredRows>(); }
};

TEST_CASE("homes, bundles and memory have a row table, and a store of a program need not") {
  HomeFixture fixture;
  const auto home = fixture.open();
  CHECK(row_table_of(*home) == home.get());
  CHECK(row_table_of(*make_memory_store()) != nullptr);
  BundleFixture shipped;
  shipped.create(cubins_up_to(1));
  const auto bundle = shipped.open();
  CHECK(row_table_of(*bundle) == bundle.get());
  EmptyStore program;
  CHECK(row_table_of(program) == nullptr);
}

TEST_CASE("a table keeps no measurements unless its store does") {
  BareTable table;
  CHECK(ok(table.tuning()).empty());
  CHECK(ok(table.checked_tuning()).empty());
  CHECK(table.add_tuning({}).error().code == ErrorCode::unsupported);
}

TEST_CASE("the kernels of a bundle are imported into a store without a row table, its measurements are not") {
  BundleFixture fixture;
  ok(create_bundle(fixture.path, cubins_up_to(2), {"test", 3}, fixture.files, table_of(measured_row(64))));
  EmptyStore program;
  const ImportReport report = ok(import_bundle(*fixture.open(), program));
  CHECK(program.published == 2);
  CHECK(report.imported == 2);
  CHECK(report.measurements == 0);
}

}  // namespace
}  // namespace cubinet::test
