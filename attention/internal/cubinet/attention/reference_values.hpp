// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/reference.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace cubinet {

// REQUIRES: bf16, fp16 or e4m3. To nearest even; what is beyond the range of e4m3, which has no infinity,
// becomes its largest.
float to_float(std::uint16_t bits, DataType type);
std::uint16_t from_float(float value, DataType type);

// Of as many elements as there are values.
void to_doubles(std::span<const std::uint16_t> elements, DataType type, std::span<double> values);

// Elements as kernels read them.
Bytes packed_elements(std::span<const std::uint16_t> elements, DataType type);
// The same into memory that is as large.
void pack_elements(std::span<const std::uint16_t> elements, DataType type, std::span<std::byte> packed);

// One of them back, of an output that a kernel has stored; fp32 too.
double stored_element(ByteView bytes, std::size_t index, DataType type);

enum class LengthPattern {
  uniform,  // every sequence has kv_len tokens
  // The first kv_len, the second (of two and more) empty, the others beside the borders of pages and
  // tiles, from both ends of what is allowed.
  borders,
};

// REQUIRES: check_problem(problem) holds.
std::vector<std::int32_t> make_kv_lengths(const AttentionProblem& problem, LengthPattern pattern);

}  // namespace cubinet
