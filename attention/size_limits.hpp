// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/problem.hpp>
#include <cubinet/base/result.hpp>

#include <cstdint>
#include <limits>

namespace cubinet {

// The most bytes of a tensor or a workspace. No device addresses as much, and no size in bits
// overflows.
inline constexpr std::uint64_t kLargestTensorBytes = std::uint64_t{1} << 56U;

// CUDA's limits of a grid (CUDA Programming Guide, "Technical specifications per compute
// capability").
inline constexpr std::uint64_t kMaximumGridX = 0x7fffffff;
inline constexpr std::uint64_t kMaximumGridYz = 65'535;

// The largest number that a kernel counts tokens, pages or rows to in an int32.
inline constexpr std::uint64_t kLargestCount = std::numeric_limits<std::int32_t>::max();

// Returns a * b, or 2^64 - 1 if the product is larger.
std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b);

// Returns batch * q_len, the maximum number of query tokens of all sequences.
std::uint64_t query_tokens(const AttentionProblem& problem);

// Returns invalid_argument if a tensor of the problem is larger than kLargestTensorBytes. The
// message names the tensor and the fields that it is the product of.
Result<void> check_tensor_sizes(const AttentionProblem& problem);

}  // namespace cubinet
