// SPDX-License-Identifier: Apache-2.0
#include "decode_lengths.hpp"

#include "rounding.hpp"

#include <algorithm>

namespace cubinet {
namespace {

constexpr std::uint32_t kShorter = 4;

// Returns the part of the longest length that a sequence has among uneven ones, in 2^-32: multiples
// of the golden ratio, without their integers, are spread evenly, however many there are.
std::uint32_t part_of(std::uint32_t sequence) {
  constexpr std::uint32_t kGoldenRatio = 2'654'435'769;
  return (sequence + 1) * kGoldenRatio;
}

}  // namespace

std::uint32_t readable_tokens(const AttentionProblem& problem, std::uint32_t slice, std::uint32_t length) {
  if (!problem.is_windowed()) return length;
  const std::uint64_t window = std::uint64_t{problem.window} + problem.q_len - 1 + (slice - 1);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(length, window));
}

DecodeLengths count_lengths(const AttentionProblem& problem, std::uint32_t slice, std::uint32_t unit,
                            AssumedLengths assumed) {
  DecodeLengths counted;
  counted.unit = unit;
  const auto add = [&](std::uint32_t length, std::uint32_t sequences) {
    const std::uint32_t readable = readable_tokens(problem, slice, length);
    const std::uint32_t units = std::max(divide_up(readable, unit), 1U);
    counted.units += static_cast<double>(sequences) * units;
    counted.tokens += static_cast<double>(sequences) * readable;
    counted.longest = std::max(counted.longest, readable);
    for (std::uint32_t i = 0; i < sequences && counted.first.size() < kCountedSequences; ++i)
      counted.first.push_back(units);
  };
  for (const std::int32_t length : problem.kv_lengths)
    add(static_cast<std::uint32_t>(length), 1);
  if (!problem.kv_lengths.empty()) return counted;
  if (assumed != AssumedLengths::uneven) {
    add(assumed == AssumedLengths::longest ? problem.kv_len : divide_up(problem.kv_len, kShorter),
        problem.batch);
    return counted;
  }
  // The first sequences stand for all.
  const std::uint32_t different = std::min(problem.batch, kCountedSequences);
  for (std::uint32_t i = 0; i < different; ++i) {
    const std::uint64_t length = std::uint64_t{problem.kv_len} * part_of(i) >> 32U;
    add(static_cast<std::uint32_t>(length), 1);
  }
  const double of_each = static_cast<double>(problem.batch) / different;
  counted.units *= of_each;
  counted.tokens *= of_each;
  return counted;
}

}  // namespace cubinet
