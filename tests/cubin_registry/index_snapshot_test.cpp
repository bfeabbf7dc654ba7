// SPDX-License-Identifier: Apache-2.0
#include "index_snapshot.hpp"

#include "cubin_registry/registry_fixture.hpp"

namespace cubinet::test {
namespace {

void add(IndexSnapshot& snapshot, const Cubin& cubin, std::int64_t time) {
  snapshot.add(cubin.record->identity.key(), encode_record(*cubin.record), time);
}

TEST_CASE("a snapshot answers for its version alone, newest first") {
  IndexSnapshot snapshot;
  CHECK_FALSE(snapshot.is_of(0));
  snapshot.begin(5);
  add(snapshot, cubin_of(1, "a"), 1);
  add(snapshot, cubin_of(1, "b"), 2);
  add(snapshot, cubin_of(2), 3);
  CHECK((snapshot.is_of(5) && !snapshot.is_of(6)));
  for (int round = 0; round < 2; ++round) {
    const auto found = snapshot.find(cubin_of(1).record->identity);
    REQUIRE(found->size() == 2);
    CHECK(found->front().record->fingerprint == fake_fingerprint("b"));
  }
  CHECK(snapshot.find(cubin_of(3).record->identity)->empty());
  snapshot.begin(6);
  CHECK(snapshot.find(cubin_of(2).record->identity)->empty());
  snapshot.forget();
  CHECK_FALSE(snapshot.is_of(6));
}

TEST_CASE("a damaged row is an error, and another kernel under the same key is no answer") {
  IndexSnapshot snapshot;
  snapshot.begin(1);
  snapshot.add(cubin_of(1).record->identity.key(), encode_record(*cubin_of(2).record), 1);
  CHECK(snapshot.find(cubin_of(1).record->identity)->empty());
  snapshot.add(cubin_of(3).record->identity.key(), Bytes(50), 1);
  CHECK(snapshot.find(cubin_of(3).record->identity).error().code == ErrorCode::corruption);
}

TEST_CASE("a small index is read at once, a large one when as many questions would have paid for it") {
  IndexSnapshot small;
  CHECK(small.worth_reading(1, 1'000));
  IndexSnapshot large;
  int asked = 1;
  while (!large.worth_reading(1, 16'000))
    ++asked;
  CHECK(asked == 1'000);
  // A new version starts the count again: a process that publishes does not read everything each time.
  for (std::uint64_t version = 2; version < 50; ++version)
    CHECK_FALSE(large.worth_reading(version, 1'000));
}

}  // namespace
}  // namespace cubinet::test
