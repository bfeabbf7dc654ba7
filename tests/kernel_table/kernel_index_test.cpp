// SPDX-License-Identifier: Apache-2.0
#include "random_rows.hpp"

#include <cubinet/kernel_table/kernel_index.hpp>

#include <doctest/doctest.h>

#include <algorithm>

namespace cubinet {
namespace {

KernelRows table(const std::vector<KernelRow>& rows) {
  KernelRows shared;
  for (const KernelRow& row : rows)
    shared.push_back(std::make_shared<const KernelRow>(row));
  return shared;
}

constexpr SmTarget kFamily100{10, 0, TargetKind::family};
constexpr SmTarget kSpecific100{10, 0, TargetKind::specific};
constexpr SmTarget kSpecific103{10, 3, TargetKind::specific};
constexpr SmTarget kBaseline100{10, 0, TargetKind::baseline};

TEST_CASE("specific comes before family before baseline, in any order of rows") {
  std::vector<SmTarget> targets = {
      kBaseline100, kFamily100, kSpecific100, kSpecific103, {9, 0, TargetKind::specific}};
  std::sort(targets.begin(), targets.end());
  do {
    std::vector<KernelRow> rows;
    rows.reserve(targets.size());
    for (const SmTarget target : targets)
      rows.push_back(test::sample_row(target));
    const KernelIndex index = KernelIndex::build(table(rows), {10, 3});
    const auto found = index.find(test::sample_row().selector);
    REQUIRE(found.size() == 3);
    CHECK(index.row(found[0]).target == kSpecific103);
    CHECK(index.row(found[1]).target == kFamily100);
    CHECK(index.row(found[2]).target == kBaseline100);
    CHECK(index.usage().other_targets == 2);
  } while (std::next_permutation(targets.begin(), targets.end()));
}

TEST_CASE("an index holds a row exactly where its target runs, for every device and target") {
  constexpr ComputeCapability kDevices[] = {{7, 5},  {8, 0},  {8, 6},  {8, 7},  {8, 9},  {9, 0},
                                            {10, 0}, {10, 3}, {10, 7}, {11, 0}, {12, 0}, {12, 1}};
  for (const ComputeCapability device : kDevices) {
    for (const SmTarget target : known_targets()) {
      const KernelRow row = test::sample_row(target);
      const KernelIndex index = KernelIndex::build(table({row}), device);
      CHECK(index.find(row.selector).empty() != runs_on(target, device));
    }
    // With all targets at once, the first row found is the best of them.
    std::vector<KernelRow> rows;
    for (const SmTarget target : known_targets())
      rows.push_back(test::sample_row(target));
    const KernelIndex index = KernelIndex::build(table(rows), device);
    const auto found = index.find(test::sample_row().selector);
    const auto expected = targets_for(device);
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      CHECK(index.row(found[i]).target == expected[i]);
  }
}

TEST_CASE("what was put in is found and nothing else is") {
  std::mt19937_64 random(9);
  std::vector<KernelRow> rows;
  for (int i = 0; i < 20'000; ++i) {
    rows.push_back(test::random_row(random));
    rows.back().target = kFamily100;
  }
  const KernelRows shared = table(rows);
  const KernelIndex index = KernelIndex::build(shared, {10, 3});
  for (std::uint32_t i = 0; i < shared.size(); ++i) {
    const auto found = index.find(shared[i]->selector);
    CHECK((std::find(found.begin(), found.end(), i) != found.end()) == shared[i]->understood());
    for (const std::uint32_t number : found)
      CHECK(index.row(number).selector == shared[i]->selector);
  }
  for (int i = 0; i < 20'000; ++i) {
    const KernelSelector other = test::random_selector(random);
    for (const std::uint32_t number : index.find(other))
      CHECK(index.row(number).selector == other);
  }
  CHECK(index.usage().not_understood > 0);
  CHECK(index.usage().not_understood + index.numbers().size() == rows.size());
}

TEST_CASE("kernels that differ in traits are both kept, the larger steps first") {
  KernelRow a = test::sample_row();
  KernelRow b = a;
  a.traits.step_kv = 128;
  b.traits.step_kv = 256;
  const KernelIndex index = KernelIndex::build(table({a, b}), {10, 0});
  const auto found = index.find(a.selector);
  REQUIRE(found.size() == 2);
  CHECK(index.row(found[0]).traits.step_kv == 256);
  CHECK(index.usage().usable == 2);
}

TEST_CASE("rows of two implementations are two kernels of one selector") {
  KernelRow compiled = test::sample_row();
  compiled.implementation = "attention_decode";
  const KernelIndex index = KernelIndex::build(table({test::sample_row(), compiled}), {10, 0});
  CHECK(index.find(compiled.selector).size() == 2);
  CHECK(index.usage().usable == 2);
}

TEST_CASE("usage counts specifications by the kind of the best target") {
  KernelRow only_family = test::sample_row();
  only_family.selector.tile_size_q = 16;
  const KernelRows rows = table({test::sample_row(kFamily100), test::sample_row(kSpecific103), only_family});
  const auto on_103 = KernelIndex::build(rows, {10, 3}).usage();
  CHECK(on_103.usable == 2);
  CHECK(on_103.specific == 1);
  CHECK(on_103.family == 1);
  const auto on_100 = KernelIndex::build(rows, {10, 0}).usage();
  CHECK(on_100.usable == 2);
  CHECK(on_100.family == 2);
  CHECK(KernelIndex::build(rows, {9, 0}).usage().usable == 0);
}

TEST_CASE("rows that are passed over are counted, and the columns that nobody knows are named") {
  KernelRow unknown = test::sample_row(kFamily100);
  unknown.extras = {{"mFuture", "true"}, {"mOff", "false"}};
  KernelRow elsewhere = test::sample_row({9, 0, TargetKind::specific});
  elsewhere.extras = {{"mElsewhere", "1"}};
  const auto usage = KernelIndex::build(table({unknown, unknown, elsewhere}), {10, 0}).usage();
  CHECK(usage.not_understood == 2);
  CHECK(usage.other_targets == 1);
  CHECK(usage.unknown_columns == std::vector<std::string>{"mFuture"});
  CHECK(usage.passed_over().find("2 rows") == 0);
  CHECK(usage.passed_over().find("(mFuture)") != std::string::npos);
  CHECK(KernelIndex::build(table({elsewhere}), {10, 0}).usage().passed_over().empty());
}

TEST_CASE("unusable rows are kept and counted, and are never found") {
  const KernelRows unusable =
      table({test::sample_row(kFamily100), test::sample_row({9, 0, TargetKind::specific})});
  const KernelIndex index = KernelIndex::build(table({test::sample_row(kSpecific103)}), {10, 3}, unusable);
  CHECK(index.rows().size() == 3);
  CHECK(index.find(index.row(0).selector).size() == 1);
  CHECK(index.numbers().size() == 1);
  CHECK(index.usage().usable == 1);
  CHECK(index.usage().refused == 1);
  CHECK(index.usage().other_targets == 1);
}

TEST_CASE("an index without rows finds nothing") {
  const KernelIndex index = KernelIndex::build(table({}), {10, 0});
  CHECK(index.find(KernelSelector{}).empty());
}

}  // namespace
}  // namespace cubinet
