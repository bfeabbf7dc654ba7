// SPDX-License-Identifier: Apache-2.0
#include "attention/problems.hpp"
#include "support/ok.hpp"
#include "support/published_header.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/cubin_registry/row_table.hpp>
#include <cubinet/session/table_store.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using test::ok;

TEST_CASE("the rows of a header are builds without images") {
  const auto rows = test::rows_for(test::generation(64, 1, 8192, 64, 8));
  const std::string header = test::published_header(rows);
  const auto table = ok(open_table("rows.h", as_bytes(header), {}));
  const CubinRecords records = ok(table->list());
  REQUIRE(records.size() == rows.size());
  CHECK(ok(row_table_of(*table)->rows())->size() == rows.size());
  CHECK(ok(table->find_function(rows.front().function_name)).size() == 1);
  CHECK(ok(table->find_key(records.front()->identity.key())).size() == 1);
  CHECK(ok(table->find(records.front()->identity.kernel())).size() >= 1);
  CHECK_FALSE(ok(table->load(records.front())));
}

TEST_CASE("rows that cannot be used are logged, and a file that is no header is an error") {
  const auto rows = test::rows_for(test::generation(64, 1, 8192, 64, 8));
  std::string header = test::published_header(rows);
  header.replace(header.rfind("kSM_"), 4, "kQQ_");
  std::string logged;
  ok(open_table("rows.h", as_bytes(header), [&](const LogRecord& record) { logged += record.message; }));
  CHECK(logged.find("rows.h:") != std::string::npos);
  const test::TempDir folder;
  test::write_file(folder / "other.h", "int x;");
  CHECK_FALSE(open_table((folder / "other.h").string(), {}));
  CHECK_FALSE(open_table((folder / "absent.h").string(), {}));
}
