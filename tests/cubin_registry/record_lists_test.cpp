// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_pages.hpp"
#include "cubin_registry/home_fixture.hpp"

#include <cubinet/cubin_registry/record_lists.hpp>

namespace cubinet::test {
namespace {

TEST_CASE("records are listed by maker, name, key and fingerprint") {
  CubinRecords records;
  for (int i = 0; i < 6; ++i)
    for (const char* build : {"b", "a"})
      records.push_back(cubin_of(i, build).record);
  KernelSpec early{"a_template", {}};
  records.push_back(make_cubin(early).record);
  KernelSpec function{"a_function", {}, KernelMaker::function};
  records.push_back(make_cubin(function).record);
  sort_records(records);
  REQUIRE(records.size() == 14);
  CHECK(records.front()->identity.is_of(identify(early)));
  CHECK(records.back()->identity.is_of(identify(function)));
  for (std::size_t i = 2; i < 13; ++i) {
    const CubinRecord& before = *records[i - 1];
    const CubinRecord& after = *records[i];
    CHECK(before.identity.key() <= after.identity.key());
    if (before.identity == after.identity) CHECK(before.fingerprint < after.fingerprint);
  }
}

TEST_CASE("a kernel of a source is found as the language names it, one of a template by its symbol") {
  for (const KernelMaker maker : {KernelMaker::source, KernelMaker::kernel_template}) {
    KernelSpec spec{"axpy", {}, maker};
    CubinRecord record = *make_cubin(spec).record;
    record.entry_points.front().name = "axpy<float, 4>";
    record.entry_points.front().symbol = "_Z4axpyIfLi4EEvv";
    const CubinRecords records = {std::make_shared<const CubinRecord>(record)};
    CHECK(with_function(records, "_Z4axpyIfLi4EEvv").size() == 1);
    CHECK(with_function(records, "axpy<float, 4>").size() == (maker == KernelMaker::source ? 1 : 0));
    CHECK(names_of(record).size() == (maker == KernelMaker::source ? 2 : 1));
  }
}

TEST_CASE("records are chosen by key and by the symbol of a function") {
  const CubinRecords records = {cubin_of(1, "a").record, cubin_of(1, "b").record, cubin_of(2).record};
  CHECK(with_key(records, records[0]->identity.key()).size() == 2);
  CHECK(with_key(records, KernelKey{1}).empty());
  CHECK(with_function(records, records[0]->entry_points.front().symbol).size() == 3);
  CHECK(with_function(records, "nothing").empty());
}

}  // namespace
}  // namespace cubinet::test
