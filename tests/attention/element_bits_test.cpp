// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/reference_values.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace cubinet {
namespace {

TEST_CASE("Values of fp16 and bf16 have the bits that IEEE 754 gives them") {
  CHECK(from_float(1.0f, DataType::bf16) == 0x3f80);
  CHECK(from_float(-2.5f, DataType::bf16) == 0xc020);
  CHECK(from_float(1.0f, DataType::fp16) == 0x3c00);
  CHECK(from_float(-2.0f, DataType::fp16) == 0xc000);
  CHECK(from_float(65504.0f, DataType::fp16) == 0x7bff);
  CHECK(from_float(0.0f, DataType::fp16) == 0x0000);
  CHECK(from_float(-0.0f, DataType::fp16) == 0x8000);
  CHECK(from_float(std::ldexp(1.0f, -24), DataType::fp16) == 0x0001);
  CHECK(from_float(std::ldexp(1.0f, -14), DataType::fp16) == 0x0400);
  CHECK(from_float(std::ldexp(1023.0f, -24), DataType::fp16) == 0x03ff);
}

TEST_CASE("Rounding is to nearest even") {
  CHECK(from_float(1.0f + std::ldexp(1.0f, -8), DataType::bf16) == 0x3f80);  // tie, down
  CHECK(from_float(1.0f + std::ldexp(3.0f, -8), DataType::bf16) == 0x3f82);  // tie, up
  CHECK(from_float(1.0f + std::ldexp(1.0f, -8) + std::ldexp(1.0f, -20), DataType::bf16) ==
        0x3f81);  // above it
  CHECK(from_float(1.0f + std::ldexp(1.0f, -11), DataType::fp16) == 0x3c00);
  CHECK(from_float(1.0f + std::ldexp(3.0f, -11), DataType::fp16) == 0x3c02);
  CHECK(from_float(std::ldexp(1.0f, -25), DataType::fp16) == 0x0000);  // tie, to zero
  CHECK(from_float(std::ldexp(1.5f, -25), DataType::fp16) == 0x0001);
  CHECK(from_float(std::ldexp(2047.0f, -25), DataType::fp16) ==
        0x0400);  // the carry makes it a normal number
}

TEST_CASE("What is beyond the range of fp16 becomes infinite, and NaN stays NaN") {
  CHECK(from_float(65519.0f, DataType::fp16) == 0x7bff);
  CHECK(from_float(65520.0f, DataType::fp16) == 0x7c00);
  CHECK(from_float(-1e30f, DataType::fp16) == 0xfc00);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(to_float(from_float(nan, DataType::fp16), DataType::fp16)));
  CHECK(std::isnan(to_float(from_float(nan, DataType::bf16), DataType::bf16)));
  CHECK(std::isinf(to_float(0x7c00, DataType::fp16)));
}

TEST_CASE("Every bit pattern of both types comes back from float") {
  for (const DataType type : {DataType::bf16, DataType::fp16}) {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      const float value = to_float(static_cast<std::uint16_t>(bits), type);
      if (std::isnan(value)) continue;
      REQUIRE(from_float(value, type) == bits);
    }
  }
}

TEST_CASE("Values of e4m3 have the bits that OCP gives them, and its range ends at 448") {
  const auto bits = [](float value) { return from_float(value, DataType::e4m3); };
  CHECK(bits(1.0f) == 0x38);
  CHECK(bits(-2.5f) == 0xc2);
  CHECK(bits(448.0f) == 0x7e);
  CHECK(bits(-1e30f) == 0xfe);
  CHECK(bits(std::ldexp(1.0f, -6)) == 0x08);
  CHECK(bits(std::ldexp(1.0f, -9)) == 0x01);
  CHECK(bits(std::ldexp(1.0f, -10)) == 0x00);        // tie, to zero
  CHECK(bits(std::ldexp(15.0f, -10)) == 0x08);       // the carry makes it a normal number
  CHECK(bits(1.0f + std::ldexp(1.0f, -4)) == 0x38);  // tie, down
  CHECK(bits(1.0f + std::ldexp(3.0f, -4)) == 0x3a);  // tie, up
  CHECK(std::isnan(to_float(bits(std::numeric_limits<float>::quiet_NaN()), DataType::e4m3)));
  for (std::uint16_t each = 0; each < 0x100; ++each) {
    const float value = to_float(each, DataType::e4m3);
    if ((each & 0x7f) == 0x7f) {
      CHECK(std::isnan(value));
    } else {
      CHECK(bits(value) == each);
    }
  }
}

TEST_CASE("Many elements become numbers, and bytes, as each does alone") {
  for (const DataType type : {DataType::bf16, DataType::fp16, DataType::e4m3}) {
    std::vector<std::uint16_t> elements(type == DataType::e4m3 ? 0x100 : 0x10000);
    std::iota(elements.begin(), elements.end(), std::uint16_t{0});
    std::vector<double> values(elements.size());
    to_doubles(elements, type, values);
    const Bytes packed = packed_elements(elements, type);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const auto alone = static_cast<double>(to_float(elements[i], type));
      const double stored = stored_element(packed, i, type);
      wrong += (values[i] == alone || (std::isnan(values[i]) && std::isnan(alone))) &&
                       (stored == alone || (std::isnan(stored) && std::isnan(alone)))
                   ? 0U
                   : 1U;
    }
    CHECK(wrong == 0);
  }
}

}  // namespace
}  // namespace cubinet
