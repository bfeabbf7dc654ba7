// SPDX-License-Identifier: Apache-2.0
#include "refusal_counts.hpp"

#include <doctest/doctest.h>

namespace cubinet {
namespace {

TEST_CASE("refusals are counted by kernel, device and caller") {
  RefusalCounts counts;
  CHECK(counts.note("b", 0, "decode"));
  CHECK_FALSE(counts.note("b", 0, "decode"));
  CHECK(counts.note("b", 1, "decode"));
  CHECK(counts.note("a", 0, ""));
  counts.note_fallback();
  const Refusals read = counts.read();
  REQUIRE(read.entries.size() == 3);
  CHECK(read.entries[0].kernel == "a");
  CHECK(read.entries[1].count == 2);
  CHECK(read.entries[1].caller == "decode");
  CHECK(read.entries[2].device == 1);
  CHECK(read.others == 0);
  CHECK(read.fallbacks == 1);
  counts.reset();
  CHECK(counts.read().entries.empty());
  CHECK(counts.read().fallbacks == 0);
}

TEST_CASE("the kinds of refusals are bounded, and the rest is one count") {
  RefusalCounts counts;
  for (std::size_t i = 0; i < kMaximumRefusals; ++i)
    CHECK(counts.note("kernel " + std::to_string(i), 0, ""));
  CHECK_FALSE(counts.note("another", 0, ""));
  CHECK_FALSE(counts.note("another", 0, ""));
  CHECK_FALSE(counts.note("kernel 7", 0, ""));
  const Refusals read = counts.read();
  CHECK(read.entries.size() == kMaximumRefusals);
  CHECK(read.others == 2);
}

}  // namespace
}  // namespace cubinet
