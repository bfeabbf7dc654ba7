// SPDX-License-Identifier: Apache-2.0
#include "templates/decode/decode_lengths.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace cubinet {
namespace {

AttentionProblem sequences(std::uint32_t batch, std::uint32_t kv_len) {
  AttentionProblem problem;
  problem.batch = batch;
  problem.kv_len = kv_len;
  return problem;
}

TEST_CASE("lengths of the problem are counted in whole units, whatever is assumed") {
  AttentionProblem problem = sequences(3, 1000);
  problem.kv_lengths = {1, 65, 0};
  for (const auto assumed : {AssumedLengths::longest, AssumedLengths::shorter, AssumedLengths::uneven}) {
    const DecodeLengths counted = count_lengths(problem, 16, 64, assumed);
    CHECK(counted.unit == 64);
    CHECK(counted.units == 4);  // no tile has less than one
    CHECK(counted.tokens == 66);
    CHECK(counted.longest == 65);
    CHECK(counted.first == std::vector<std::uint32_t>{1, 2, 1});
  }
}

TEST_CASE("unknown lengths are assumed to be the longest, a quarter of it, or all parts of it") {
  const AttentionProblem problem = sequences(16, 1600);
  const DecodeLengths longest = count_lengths(problem, 16, 16, AssumedLengths::longest);
  CHECK(longest.units == 16 * 100);
  CHECK(longest.tokens == 16 * 1600);
  CHECK(longest.longest == 1600);
  const DecodeLengths shorter = count_lengths(problem, 16, 16, AssumedLengths::shorter);
  CHECK(shorter.units == 16 * 25);
  CHECK(shorter.longest == 400);
  const DecodeLengths uneven = count_lengths(problem, 16, 16, AssumedLengths::uneven);
  CHECK(uneven.tokens / longest.tokens == doctest::Approx(0.5).epsilon(0.05));
  CHECK(uneven.longest > 1400);
  // One sequence is in each eighth of the longest length, and at most four are.
  for (std::uint32_t eighth = 0; eighth < 8; ++eighth) {
    const auto count = std::count_if(uneven.first.begin(), uneven.first.end(), [&](std::uint32_t units) {
      return units > eighth * 100 / 8 && units <= (eighth + 1) * 100 / 8;
    });
    CHECK(count >= 1);
    CHECK(count <= 4);
  }
}

TEST_CASE("the first sequences stand for all uneven ones") {
  const DecodeLengths few = count_lengths(sequences(kCountedSequences, 5000), 16, 64, AssumedLengths::uneven);
  const DecodeLengths many =
      count_lengths(sequences(10 * kCountedSequences, 5000), 16, 64, AssumedLengths::uneven);
  CHECK(many.first == few.first);
  CHECK(many.units == doctest::Approx(10 * few.units));
  CHECK(many.tokens == doctest::Approx(10 * few.tokens));
}

TEST_CASE("a window bounds the tokens that are read") {
  AttentionProblem problem = sequences(2, 5000);
  problem.window = 100;
  problem.q_len = 4;
  CHECK(readable_tokens(problem, 16, 50) == 50);
  CHECK(readable_tokens(problem, 16, 5000) == 100 + 3 + 15);
  CHECK(count_lengths(problem, 16, 64, AssumedLengths::longest).tokens == 2 * 118);
  CHECK(count_lengths(sequences(2, 0), 16, 64, AssumedLengths::longest).longest == 1);
}

}  // namespace
}  // namespace cubinet
