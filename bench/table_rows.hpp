// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/problem.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>

#include <cstddef>
#include <vector>

namespace cubinet::bench {

// Returns a table like a publisher's: products of types, head dims, pages, masks, tiles and modes,
// each for the family 10.0 and every tenth for 10.3 too. All kernels are distinct. The rows that
// decode_problem() may use are among the first hundred.
std::vector<KernelRow> table_rows(std::size_t count);

// Returns Llama-3-70B's attention: 64 query heads over 8, head dim 128, bf16, pages of 64.
AttentionProblem decode_problem(std::uint32_t batch, std::uint32_t kv_len);

}  // namespace cubinet::bench
