// SPDX-License-Identifier: Apache-2.0
#include "local/eviction.hpp"

#include <doctest/doctest.h>

namespace cubinet::test {
namespace {

constexpr std::int64_t kNow = 1'800'000'000;
constexpr std::int64_t kDay = 86'400;

Evictable last_used(std::uint64_t number, std::int64_t days_ago, std::uint64_t bytes = 100) {
  Evictable evictable;
  evictable.import = number;  // stands for what it is
  evictable.bytes = bytes;
  evictable.since = kNow - days_ago * kDay;
  return evictable;
}

std::vector<std::uint64_t> numbers_of(const EvictionPlan& plan) {
  std::vector<std::uint64_t> numbers;
  for (const Evictable& each : plan.out)
    numbers.push_back(each.import);
  return numbers;
}

using Numbers = std::vector<std::uint64_t>;

TEST_CASE("nothing goes up to the high mark, and above it what was not used for longest until the low one") {
  const std::vector<Evictable> all = {last_used(1, 5), last_used(2, 9), last_used(3, 1), last_used(4, 7)};
  CHECK(numbers_of(plan_eviction(all, {400, 100}, kNow)).empty());
  CHECK(plan_eviction(all, {400, 100}, kNow).kept_bytes == 400);
  const EvictionPlan plan = plan_eviction(all, {399, 200}, kNow);
  CHECK(numbers_of(plan) == Numbers{2, 4});
  CHECK(plan.kept_bytes == 200);
  CHECK(numbers_of(plan_eviction(all, {0, 0}, kNow)) == Numbers{2, 4, 1, 3});
}

TEST_CASE("what is pinned, recent, or frees nothing stays, whatever the marks are") {
  std::vector<Evictable> all = {last_used(1, 9), last_used(2, 8), last_used(3, 0), last_used(4, 7, 0)};
  all[0].pinned = true;
  const EvictionPlan plan = plan_eviction(all, {0, 0}, kNow);
  CHECK(numbers_of(plan) == Numbers{2});
  CHECK(plan.kept_bytes == 200);
  CHECK(plan.pinned_bytes == 100);
  CHECK(plan.recent_bytes == 100);
}

TEST_CASE("every use of the last hour protects, though it was noted an hour before") {
  Evictable evictable = last_used(1, 0);
  evictable.since = kNow - 2 * 3'600;
  CHECK(plan_eviction({evictable}, {0, 0}, kNow).out.empty());
  evictable.since = kNow - 2 * 3'600 - 61;
  CHECK(plan_eviction({evictable}, {0, 0}, kNow).out.size() == 1);
}

TEST_CASE("a time of the future is not believed, but for what two clocks differ by") {
  CHECK(is_believed(kNow - kDay, kNow));
  CHECK(is_believed(kNow + 60, kNow));
  CHECK_FALSE(is_believed(kNow + kDay, kNow));
}

}  // namespace
}  // namespace cubinet::test
