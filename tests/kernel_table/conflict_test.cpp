// SPDX-License-Identifier: Apache-2.0
#include "random_rows.hpp"

#include <cubinet/kernel_table/conflict.hpp>

#include <doctest/doctest.h>

#include <algorithm>

namespace cubinet {
namespace {

KernelRow row_from(RowOrigin origin, std::uint64_t version, const std::string& content, bool stale = false) {
  KernelRow row = test::sample_row();
  row.digest = sha256(as_bytes(content));
  row.provenance = {origin, stale, version, "source of " + content};
  return row;
}

std::string kept(std::vector<KernelRow> rows) {
  const auto resolved = resolve_conflicts(std::move(rows));
  REQUIRE(resolved);
  return resolved->rows.empty() ? "none" : resolved->rows.front().provenance.source;
}

TEST_CASE("equal bytes are one entry and no conflict") {
  const auto resolved =
      resolve_conflicts({row_from(RowOrigin::imported, 1, "x"), row_from(RowOrigin::imported, 1, "x"),
                         row_from(RowOrigin::bundle, 2, "x")});
  REQUIRE(resolved);
  CHECK(resolved->rows.size() == 1);
  CHECK(resolved->duplicates == 2);
  CHECK(resolved->conflicts.empty());
}

TEST_CASE(
    "a current local row comes before bundles, a higher bundle before a lower, bundles before imports") {
  const KernelRow local = row_from(RowOrigin::compiled, 0, "local");
  const KernelRow bundle1 = row_from(RowOrigin::bundle, 1, "bundle1");
  const KernelRow bundle2 = row_from(RowOrigin::bundle, 2, "bundle2");
  const KernelRow import1 = row_from(RowOrigin::imported, 1, "import1");
  const KernelRow import9 = row_from(RowOrigin::imported, 9, "import9");
  CHECK(kept({import9, bundle1, bundle2, local}) == "source of local");
  CHECK(kept({import9, bundle1, bundle2}) == "source of bundle2");
  CHECK(kept({import1, import9}) == "source of import9");
  CHECK(kept({bundle1, import9}) == "source of bundle1");
}

TEST_CASE("rows of two implementations are two kernels, whatever else they share") {
  const KernelRow published = row_from(RowOrigin::imported, 1, "published");
  KernelRow compiled = row_from(RowOrigin::compiled, 0, "compiled");
  compiled.implementation = "attention_decode";
  const auto resolved = resolve_conflicts({published, compiled});
  REQUIRE(resolved);
  CHECK(resolved->rows.size() == 2);
  CHECK(resolved->conflicts.empty());
}

TEST_CASE("where the first place is shared by different bytes all are refused and named") {
  const auto resolved =
      resolve_conflicts({row_from(RowOrigin::imported, 4, "a"), row_from(RowOrigin::imported, 4, "b"),
                         row_from(RowOrigin::imported, 3, "c")});
  REQUIRE(resolved);
  CHECK(resolved->rows.empty());
  REQUIRE(resolved->conflicts.size() == 1);
  CHECK_FALSE(resolved->conflicts[0].decided);
  CHECK(resolved->conflicts[0].refused.size() == 3);
  const std::string text = resolved->conflicts[0].to_string();
  CHECK(text.find("source of a") != std::string::npos);
  CHECK(text.find("source of b") != std::string::npos);
}

TEST_CASE("a stale row is not a conflict, and is used where there is nothing else") {
  const KernelRow stale = row_from(RowOrigin::compiled, 0, "old", true);
  const auto resolved = resolve_conflicts({stale, row_from(RowOrigin::imported, 1, "x")});
  REQUIRE(resolved);
  CHECK(resolved->stale == 1);
  CHECK(resolved->conflicts.empty());
  CHECK(resolved->rows.front().provenance.source == "source of x");
  CHECK(kept({stale}) == "source of old");
}

TEST_CASE("equal bytes with other launch facts are a conflict") {
  KernelRow other = row_from(RowOrigin::imported, 1, "x");
  other.threads = 384;
  const auto resolved = resolve_conflicts({row_from(RowOrigin::imported, 1, "x"), other});
  REQUIRE(resolved);
  CHECK(resolved->rows.empty());
  CHECK(resolved->conflicts.size() == 1);
}

TEST_CASE("rows for different targets are no conflict, whichever pair of targets") {
  for (const SmTarget a : known_targets()) {
    for (const SmTarget b : known_targets()) {
      const auto resolved = resolve_conflicts({test::sample_row(a), test::sample_row(b)});
      REQUIRE(resolved);
      CHECK(resolved->conflicts.empty());
      CHECK(resolved->rows.size() == (a == b ? 1 : 2));
    }
  }
}

TEST_CASE("the order of rows changes nothing") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<KernelRow> rows;
    rows.reserve(8);
    for (int i = 0; i < 8; ++i) {
      rows.push_back(row_from(static_cast<RowOrigin>(random() % 3), random() % 3,
                              std::string(1, static_cast<char>('a' + random() % 3)), random() % 4 == 0));
    }
    const auto first = resolve_conflicts(rows);
    std::shuffle(rows.begin(), rows.end(), random);
    const auto second = resolve_conflicts(rows);
    REQUIRE(first);
    REQUIRE(second);
    CHECK(first->rows == second->rows);
    CHECK(first->duplicates == second->duplicates);
    CHECK(first->stale == second->stale);
    REQUIRE(first->conflicts.size() == second->conflicts.size());
    for (std::size_t i = 0; i < first->conflicts.size(); ++i)
      CHECK(first->conflicts[i].to_string() == second->conflicts[i].to_string());
  }
}

TEST_CASE("a row out of range is an error and not a conflict") {
  KernelRow row = test::sample_row();
  row.selector.head_dim_v = 100;
  CHECK_FALSE(resolve_conflicts({row}));
}

}  // namespace
}  // namespace cubinet
