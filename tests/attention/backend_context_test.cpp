// SPDX-License-Identifier: Apache-2.0
#include "backend_fixture.hpp"

namespace cubinet {
namespace {

TEST_CASE("rows are divided by their implementation, and those of others are left out") {
  const AttentionProblem problem = test::generation(1, 1, 4096, 32, 4);
  std::vector<KernelRow> rows = test::published_rows(problem);
  const std::size_t published = rows.size();
  rows.push_back(rows.front());
  rows.back().implementation = kDecodeTemplate;
  rows.push_back(rows.front());
  rows.back().implementation = "somebody_elses";
  const BackendContext context = BackendContext::create(test::kB200, rows);
  CHECK(context.imported_rows->rows()->size() == published);
  CHECK(context.template_rows->rows()->size() == 1);
  CHECK(context.imported_rows->numbers().size() == published);
}

TEST_CASE("rows for other devices are kept for explanations and not found") {
  const auto rows = test::published_rows(test::generation(1, 1, 4096, 32, 4));
  const BackendContext context = BackendContext::create(test::kH200, rows);
  CHECK(context.imported_rows->rows()->size() == rows.size());
  CHECK(context.imported_rows->numbers().empty());
}

}  // namespace
}  // namespace cubinet
