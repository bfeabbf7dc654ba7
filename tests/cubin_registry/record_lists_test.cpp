// SPDX-License-Identifier: Apache-2.0
#include "store/record_lists.hpp"

#include "cubin_registry/home_fixture.hpp"

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

TEST_CASE("records are chosen by key and by the symbol of a function") {
  const CubinRecords records = {cubin_of(1, "a").record, cubin_of(1, "b").record, cubin_of(2).record};
  CHECK(with_key(records, records[0]->identity.key()).size() == 2);
  CHECK(with_key(records, KernelKey{1}).empty());
  CHECK(with_function(records, records[0]->entry_points.front().symbol).size() == 3);
  CHECK(with_function(records, "nothing").empty());
}

}  // namespace
}  // namespace cubinet::test
