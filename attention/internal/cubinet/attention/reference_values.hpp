// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/reference.hpp>

#include <cstdint>
#include <vector>

namespace cubinet {

float to_float(std::uint16_t bits, DataType type);     // REQUIRES: bf16 or fp16
std::uint16_t from_float(float value, DataType type);  // to nearest even; REQUIRES: bf16 or fp16

enum class LengthPattern {
  uniform,  // every sequence has kv_len tokens
  // The first kv_len, the second (of two and more) empty, the others beside the borders of pages and
  // tiles, from both ends of what is allowed.
  borders,
};

// REQUIRES: check_problem(problem) holds.
std::vector<std::int32_t> make_kv_lengths(const AttentionProblem& problem, LengthPattern pattern);

}  // namespace cubinet
