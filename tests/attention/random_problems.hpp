// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/problem.hpp>

#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

// Problems of attention as dice make them: all that its families compute, and no more than a
// CPU computes in double precision within a second.
namespace cubinet::test {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : generator_(seed) {}

  std::uint64_t number() { return generator_(); }
  bool one_of(unsigned sides) { return generator_() % sides == 0; }
  // Sizes of every order are as frequent as each other.
  std::uint32_t size(std::uint32_t least, std::uint32_t most);
  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[generator_() % values.size()];
  }
  template <class T>
  const T& pick(const std::vector<T>& values) {
    return values[generator_() % values.size()];
  }

 private:
  std::mt19937_64 generator_;
};

// Types, head dims, page, mask: what a kernel is compiled for.
AttentionProblem random_kind(Dice& dice);
// The same with sizes, lengths and scales, which kernels read when they run.
AttentionProblem random_sizes(const AttentionProblem& kind, Dice& dice);
// The same of prefill attention.
AttentionProblem random_prefill_kind(Dice& dice);
AttentionProblem random_prefill_sizes(const AttentionProblem& kind, Dice& dice);
// Lengths of its sequences: empty ones, equal ones, one long beside short ones, those beside
// borders.
std::vector<std::int32_t> random_lengths(const AttentionProblem& problem, Dice& dice);

// Multiplications of the reference.
double reference_work(const AttentionProblem& problem);

}  // namespace cubinet::test
