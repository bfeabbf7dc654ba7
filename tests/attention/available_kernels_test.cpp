// SPDX-License-Identifier: Apache-2.0
#include "backend_fixture.hpp"

namespace cubinet {
namespace {

TEST_CASE("rows are divided by their implementation, those of no known backend too") {
  const AttentionProblem problem = test::generation(1, 1, 4096, 32, 4);
  std::vector<KernelRow> rows = test::published_rows(problem);
  const std::size_t published = rows.size();
  rows.push_back(rows.front());
  rows.back().implementation = "attention_decode";
  rows.push_back(rows.front());
  rows.back().implementation = "somebody_elses";
  const AvailableKernels kernels = test::available(rows, {10, 0});
  CHECK(kernels.of(kPublishedImplementation).rows().size() == published);
  CHECK(kernels.of(kPublishedImplementation).numbers().size() == published);
  CHECK(kernels.of("attention_decode").rows().size() == 1);
  CHECK(kernels.of("somebody_elses").rows().size() == 1);
  CHECK(kernels.of("nobody").rows().empty());
  CHECK(kernels.device() == ComputeCapability{10, 0});
}

TEST_CASE("rows for other devices are kept for explanations and not found") {
  const auto rows = test::published_rows(test::generation(1, 1, 4096, 32, 4));
  const AvailableKernels kernels = test::available(rows, {9, 0});
  CHECK(kernels.of(kPublishedImplementation).rows().size() == rows.size());
  CHECK(kernels.of(kPublishedImplementation).numbers().empty());
}

TEST_CASE("rows that no request takes are kept for explanations and never planned with") {
  DeviceRows found;
  for (const KernelRow& row : test::published_rows(test::generation(1, 1, 4096, 32, 4)))
    found.elsewhere.push_back({std::make_shared<const KernelRow>(row), nullptr});
  const AvailableKernels refused = AvailableKernels::create(found, {10, 0});
  CHECK(refused.of(kPublishedImplementation).rows().size() == found.elsewhere.size());
  CHECK(refused.of(kPublishedImplementation).numbers().empty());
  CHECK(refused.of(kPublishedImplementation).usage().refused == found.elsewhere.size());
  const AvailableKernels foreign = AvailableKernels::create(found, {9, 0});
  CHECK(foreign.of(kPublishedImplementation).usage().other_targets == found.elsewhere.size());
}

TEST_CASE("a row that exists as PTX alone explains nothing on a device that its target runs on") {
  DeviceRows found;
  auto record = std::make_shared<CubinRecord>();
  record->kind = ImageKind::ptx;
  const KernelRow row = test::published_rows(test::generation(1, 1, 4096, 32, 4)).front();
  found.elsewhere.push_back({std::make_shared<const KernelRow>(row), record});
  CHECK(AvailableKernels::create(found, {10, 0}).of(kPublishedImplementation).rows().empty());
  CHECK(AvailableKernels::create(found, {9, 0}).of(kPublishedImplementation).rows().size() == 1);
}

TEST_CASE("rows of two versions are two tables, the one pinned last first") {
  std::vector<KernelRow> rows = test::published_rows(test::generation(1, 1, 4096, 32, 4));
  const std::size_t count = rows.size();
  for (KernelRow& row : rows) {
    row.pin = "aa";
    row.version = 7;
  }
  rows.push_back(rows.front());
  rows.back().pin = "bb";
  rows.back().version = 9;
  const AvailableKernels kernels = test::available(rows, {10, 0});
  const auto tables = kernels.tables(kPublishedImplementation);
  REQUIRE(tables.size() == 2);
  CHECK(tables[0]->rows().size() == 1);
  CHECK(tables[1]->rows().size() == count);
}

TEST_CASE("no kernels at all serve any device") {
  CHECK_FALSE(AvailableKernels().device());
  CHECK(AvailableKernels().of(kPublishedImplementation).numbers().empty());
}

}  // namespace
}  // namespace cubinet
