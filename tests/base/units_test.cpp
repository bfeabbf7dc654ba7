// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/units.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

TEST_CASE("sizes and times are written in the unit that suits them") {
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(1023) == "1023 B");
  CHECK(format_bytes(1024) == "1.0 KiB");
  CHECK(format_bytes(std::uint64_t{3} << 29) == "1.5 GiB");
  CHECK(format_bytes(UINT64_MAX) == "16777216.0 TiB");
  CHECK(format_seconds(2.5) == "2.50 s");
  CHECK(format_seconds(0.0025) == "2.50 ms");
  CHECK(format_seconds(2.5e-6) == "2.50 us");
}
