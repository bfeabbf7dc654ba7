// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/decode_problem.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace cubinet {
namespace {

// CUDA's limit for the grid's y and z; sequences and KV heads are laid out there.
constexpr int kMaximumGridYz = 65535;
// Keeps token positions, rounded up to a tile, within 32 bits on the device.
constexpr int kMaximumKvLength = 1 << 30;

Error out_of_range(const std::string& field, std::int64_t value, const std::string& allowed) {
  return Error{ErrorCode::invalid_argument,
               "decode: " + field + " is " + std::to_string(value) + ", but must be " + allowed};
}

Result<void> check_range(const std::string& field, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return {};
  return out_of_range(field, value, std::to_string(low) + " to " + std::to_string(high));
}

Result<void> check_heads(const DecodeProblem& problem) {
  CUBINET_TRY(check_range("heads_kv", problem.heads_kv, 1, kMaximumGridYz));
  if (problem.heads_q < problem.heads_kv || problem.heads_q % problem.heads_kv != 0) {
    return out_of_range("heads_q", problem.heads_q,
                        "a multiple of heads_kv, " + std::to_string(problem.heads_kv));
  }
  // The reduction has a block for each row in its grid's x.
  CUBINET_TRY(check_range("q_len", problem.q_len, 1, std::numeric_limits<int>::max() / problem.heads_q));
  CUBINET_TRY(check_range("head_dim_qk", problem.head_dim_qk, 1, 1 << 16));
  return check_range("head_dim_v", problem.head_dim_v, 1, 1 << 16);
}

}  // namespace

int DecodeProblem::pages_per_sequence() const {
  return std::max((kv_len_max + page_size - 1) / page_size, 1);
}

float DecodeProblem::scale() const {
  return softmax_scale.value_or(1.0f / std::sqrt(static_cast<float>(head_dim_qk)));
}

Result<void> check(const DecodeProblem& problem) {
  CUBINET_TRY(check_range("batch", problem.batch, 1, kMaximumGridYz));
  CUBINET_TRY(check_heads(problem));
  CUBINET_TRY(check_range("kv_len_max", problem.kv_len_max, 0, kMaximumKvLength));
  CUBINET_TRY(check_range("page_size", problem.page_size, 1, 1 << 20));
  if (problem.window) {
    CUBINET_TRY(check_range("window", *problem.window, 1, kMaximumKvLength));
    if (problem.mask != DecodeMask::causal) {
      return Error{ErrorCode::invalid_argument,
                   "decode: a window needs the causal mask: it ends at the query's position"};
    }
  }
  if (!(std::isfinite(problem.scale()) && problem.scale() > 0)) {
    return Error{ErrorCode::invalid_argument, "decode: softmax_scale is " + std::to_string(problem.scale()) +
                                                  ", but must be finite and above 0"};
  }
  if (!problem.kv_lengths.empty() && problem.kv_lengths.size() != static_cast<std::size_t>(problem.batch)) {
    return out_of_range("the number of kv_lengths", static_cast<std::int64_t>(problem.kv_lengths.size()),
                        "batch, " + std::to_string(problem.batch) + ", or 0");
  }
  for (const std::int32_t length : problem.kv_lengths) {
    CUBINET_TRY(check_range("a length of kv_lengths", length, 0, problem.kv_len_max));
  }
  return {};
}

}  // namespace cubinet
