// SPDX-License-Identifier: Apache-2.0
#include "name_snapshot.hpp"

#include "cubin_registry/artifact_fixture.hpp"

namespace cubinet::test {
namespace {

IndexedImport import_of(std::uint64_t number, std::uint64_t rows, std::uint64_t plain) {
  return {{number, 100, 7}, {number, "/folder", ArtifactPlacement::in_place, rows, plain, rows + plain, 0}};
}

KernelRow row_of_import(int kernel, std::uint64_t import) {
  KernelRow row = artifact_row(kernel);
  row.provenance = {RowOrigin::imported, false, import, "/folder", {}};
  return row;
}

NamedKernel plain_of_import(int kernel, std::uint64_t import) {
  const KernelRow row = artifact_row(kernel);
  return {import, {row.function_name, 0, 0, row.target, row.digest}};
}

TEST_CASE("a name gives the kernels of the import pinned last first, and of one import its rows first") {
  NameSnapshot names;
  CHECK(names.is_of({}));
  const std::vector<IndexedImport> imports = {import_of(1, 1, 1), import_of(3, 1, 0)};
  CHECK_FALSE(names.is_of(imports));
  KernelRow compiled = artifact_row(1);  // of an entry: found by its identity only
  compiled.provenance.origin = RowOrigin::compiled;
  REQUIRE(names.fill(imports, {compiled, row_of_import(1, 1), row_of_import(1, 3)}, {plain_of_import(1, 1)}));
  CHECK(names.is_of(imports));
  CHECK_FALSE(names.is_of({imports[0]}));
  const auto found = names.find("kernel_1");
  REQUIRE(found.size() == 3);
  CHECK(found[0].import == 3);
  CHECK(found[1].kernel.threads == 512);
  CHECK(found[2].kernel.threads == 0);
  CHECK(names.find("kernel_2").empty());
}

TEST_CASE("an import with more or fewer kernels than it says is corruption, and nothing is found in it") {
  const std::vector<IndexedImport> imports = {import_of(1, 1, 1), import_of(2, 1, 0)};
  const KernelRow first = row_of_import(1, 1);
  const KernelRow second = row_of_import(1, 2);
  const std::vector<std::pair<std::vector<KernelRow>, std::vector<NamedKernel>>> wrong = {
      {{first, second}, {}},
      {{first}, {plain_of_import(2, 1)}},
      {{first, first}, {plain_of_import(2, 1)}},
      {{first, second}, {plain_of_import(2, 2)}},
      {{first, second, row_of_import(1, 9)}, {plain_of_import(2, 1)}},
  };
  for (const auto& [rows, plain] : wrong) {
    NameSnapshot names;
    const auto filled = names.fill(imports, rows, plain);
    REQUIRE(!filled);
    CHECK(filled.error().code == ErrorCode::corruption);
    CHECK_FALSE(names.is_of(imports));
    CHECK(names.find("kernel_1").empty());
  }
  NameSnapshot names;
  CHECK(names.fill(imports, {first, second}, {plain_of_import(2, 1)}));
}

}  // namespace
}  // namespace cubinet::test
