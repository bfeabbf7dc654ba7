// SPDX-License-Identifier: Apache-2.0
#include <cubinet/kernel_templates/e4m3_rounding.h>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>

using cubinet::kernel_templates::rounded_to_e4m3;

namespace {

double value_of(unsigned bits) {
  const int exponent = static_cast<int>(bits >> 3 & 0xfu);
  const int mantissa = static_cast<int>(bits & 7u);
  return exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
}

// The nearest of all values, of two as near the even one; beyond the largest it.
unsigned nearest(float magnitude) {
  unsigned best = 0;
  double best_distance = std::numeric_limits<double>::infinity();
  for (unsigned bits = 0; bits < 0x7fu; ++bits) {
    const double distance = std::abs(value_of(bits) - static_cast<double>(magnitude));
    if (distance < best_distance || (distance == best_distance && bits % 2 == 0)) {
      best = bits;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace

TEST_CASE("rounding to e4m3 takes the nearest value, the even one of two, and the largest beyond it") {
  for (unsigned bits = 0; bits < 0x7fu; ++bits) {
    const auto value = static_cast<float>(value_of(bits));
    const auto middle = bits < 0x7eu ? static_cast<float>((value_of(bits) + value_of(bits + 1)) / 2) : 464.0f;
    for (const float base : {value, middle}) {
      for (const float near : {std::nextafter(base, 0.0f), base, std::nextafter(base, 1e9f)}) {
        CAPTURE(near);
        CHECK(rounded_to_e4m3(std::bit_cast<unsigned>(near)) == nearest(near));
        CHECK(rounded_to_e4m3(std::bit_cast<unsigned>(-near)) == (nearest(near) | 0x80u));
      }
    }
  }
}

TEST_CASE("infinity rounds to the largest e4m3, a tiny number to zero, and NaN stays NaN") {
  CHECK(rounded_to_e4m3(0x7f800000u) == 0x7eu);
  CHECK(rounded_to_e4m3(0xff800000u) == 0xfeu);
  CHECK(rounded_to_e4m3(1u) == 0u);
  CHECK(rounded_to_e4m3(0x80000001u) == 0x80u);
  CHECK(rounded_to_e4m3(0x7fc00000u) == 0x7fu);
  CHECK(rounded_to_e4m3(0x7f7fffffu) == 0x7eu);
}
