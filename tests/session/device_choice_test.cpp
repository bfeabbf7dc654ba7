// SPDX-License-Identifier: Apache-2.0
#include "attention/problems.hpp"
#include "support/ok.hpp"
#include "support/published_header.hpp"

#include <cubinet/session/device_choice.hpp>
#include <cubinet/session/table_store.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using test::ok;

namespace {

std::shared_ptr<Store> store_for(const AttentionProblem& problem) {
  const std::string header = test::published_header(test::rows_for(problem));
  return ok(open_table("rows.h", as_bytes(header), {}));
}

}  // namespace

TEST_CASE("without problems a device needs everything that it can use") {
  const auto store = store_for(test::generation(64, 1, 8192, 64, 8));
  const CubinRecords records = ok(store->list());
  DeviceRequest request;
  request.device.capability = {10, 0};
  CHECK_FALSE(ok(choose_for_device({}, request, store, records)).records.empty());
  request.device.capability = {8, 0};
  CHECK(ok(choose_for_device({}, request, store, records)).records.empty());
}

TEST_CASE("for problems a device needs what their plans choose, and the others are named") {
  const AttentionProblem served = test::generation(64, 1, 8192, 64, 8);
  AttentionProblem unserved = served;
  unserved.tokens_per_page = 16;
  const auto store = store_for(served);
  const CubinRecords records = ok(store->list());
  DeviceRequest request{ok(DeviceFacts::named("10.0"))};
  request.problems = {{"the first", served}, {"the second", unserved}};
  const DeviceChoice choice = ok(choose_for_device({}, request, store, records));
  CHECK_FALSE(choice.records.empty());
  CHECK(choice.records.size() <= records.size());
  REQUIRE(choice.unserved.size() == 1);
  CHECK(choice.unserved.front().text == "the second");
  CHECK_FALSE(choice.unserved.front().reason.empty());
}
