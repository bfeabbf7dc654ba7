// SPDX-License-Identifier: Apache-2.0
#include "support/property_counts.hpp"

#include <cubinet/kernel_templates/fast_divisor.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>

namespace cubinet::kernel_templates {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();

// Wrong quotients among the numerators beside multiples of the divisor, where a multiplier that is
// off by one shows, and at both ends.
std::uint64_t wrong_quotients(std::int64_t divisor, std::int64_t multiples) {
  const auto made = make_fast_divisor(divisor);
  if (!made) return 1;
  const FastDivisor fast = *made;
  std::uint64_t wrong = 0;
  const auto check = [&](std::int64_t n) {
    if (n < 0 || n > kLargest) return;
    const auto number = static_cast<std::int32_t>(n);
    if (fast.quotient(number) != n / divisor || fast.remainder(number) != n % divisor) ++wrong;
  };
  const std::int64_t last = kLargest / divisor;
  for (std::int64_t i = 0; i <= multiples && i <= last; ++i) {
    for (const std::int64_t multiple : {i * divisor, (last - i) * divisor}) {
      check(multiple - 1);
      check(multiple);
      check(multiple + 1);
    }
  }
  check(kLargest);
  check(kLargest - 1);
  return wrong;
}

TEST_CASE("division is exact for every divisor to 65536 at boundary numerators") {
  std::uint64_t wrong = 0;
  for (std::int64_t divisor = 1; divisor <= 65'536; ++divisor)
    wrong += wrong_quotients(divisor, 64);
  CHECK(wrong == 0);
}

TEST_CASE("division is exact for large and random divisors") {
  std::uint64_t wrong = 0;
  for (int bit = 16; bit < 31; ++bit) {
    for (std::int64_t near = -2; near <= 2; ++near)
      wrong += wrong_quotients((std::int64_t{1} << bit) + near, 1000);
  }
  for (std::int64_t near = 0; near < 1000; ++near)
    wrong += wrong_quotients(kLargest - near, 10);
  std::mt19937_64 random(14);
  for (std::uint64_t i = 0; i < 200'000 / cubinet::test::kPropertyDivisor; ++i)
    wrong +=
        wrong_quotients(1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(kLargest)), 8);
  CHECK(wrong == 0);
}

TEST_CASE("the layout is that of the kernels, and divisor one is marked by a multiplier of zero") {
  CHECK(*make_fast_divisor(1) == FastDivisor{1, 0, 0, 0});
  CHECK(*make_fast_divisor(2) == FastDivisor{2, 0x80000000, 0, 0});
  CHECK(*make_fast_divisor(3) == FastDivisor{3, 0xaaaaaaab, 0, 1});
}

TEST_CASE("divisors below one are refused") {
  CHECK_FALSE(make_fast_divisor(0));
  CHECK_FALSE(make_fast_divisor(-7));
  CHECK_FALSE(make_fast_divisor(std::numeric_limits<std::int32_t>::min()));
  CHECK_FALSE(make_fast_divisor(kLargest + 1));
}

}  // namespace
}  // namespace cubinet::kernel_templates
