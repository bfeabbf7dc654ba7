// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/reference.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace cubinet {

// Convert between floats and elements. Rounds to nearest even. e4m3 has no infinity: values beyond
// its range become its largest value. REQUIRES: bf16, fp16 or e4m3.
float to_float(std::uint16_t bits, DataType type);
std::uint16_t from_float(float value, DataType type);

// Converts all elements. REQUIRES: as many elements as values.
void to_doubles(std::span<const std::uint16_t> elements, DataType type, std::span<double> values);

// Returns the elements in the format that kernels read.
Bytes packed_elements(std::span<const std::uint16_t> elements, DataType type);
// Writes them to memory of the same size.
void pack_elements(std::span<const std::uint16_t> elements, DataType type, std::span<std::byte> packed);

// Returns one element of an output as stored by a kernel. fp32 is allowed too.
double stored_element(ByteView bytes, std::size_t index, DataType type);

enum class LengthPattern {
  uniform,  // every sequence has kv_len tokens
  // The first sequence has kv_len tokens and the second, if any, is empty. The others end next to
  // the borders of pages and tiles, at both ends of the allowed range.
  borders,
};

// REQUIRES: check_problem(problem) holds.
std::vector<std::int32_t> make_kv_lengths(const AttentionProblem& problem, LengthPattern pattern);

}  // namespace cubinet
