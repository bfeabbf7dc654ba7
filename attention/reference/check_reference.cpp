// SPDX-License-Identifier: Apache-2.0
#include "check_reference.hpp"

#include <string>

namespace cubinet {
namespace {

bool is_known(DataType type) {
  return type == DataType::bf16 || type == DataType::fp16 || type == DataType::e4m3;
}

// Returns a feature that the reference lacks. Empty: it supports the problem.
std::string missing_part(const AttentionProblem& problem) {
  if (problem.layout == QkvLayout::packed_qkv) return "KV as " + std::string(to_string(problem.layout));
  if (problem.sparse != SparseAttention::none) return "sparse attention";
  if (problem.chunk != kUnlimited) return "chunks";
  for (const DataType type : {problem.data_type_q, problem.data_type_k, problem.data_type_v}) {
    if (!is_known(type)) return "inputs of " + std::string(to_string(type));
  }
  return "";
}

}  // namespace

Result<void> check_reference(const AttentionProblem& problem, const std::vector<std::int32_t>& kv_lengths) {
  AttentionProblem checked = problem;
  checked.kv_lengths = kv_lengths;
  CUBINET_TRY(check_problem(checked));
  if (kv_lengths.empty()) {
    return Error{
        ErrorCode::invalid_argument,
        "attention reference: `AttentionProblem::kv_lengths` is empty; give one length per sequence"};
  }
  const std::string missing = missing_part(problem);
  if (missing.empty()) return {};
  return Error{ErrorCode::unsupported, "attention reference: it does not compute " + missing};
}

Result<void> check_q_lengths(const AttentionProblem& problem, const std::vector<std::int32_t>& q_lengths) {
  const auto wrong = [](const std::string& why) {
    return Error{ErrorCode::invalid_argument, "attention reference: `q_lengths`: " + why};
  };
  const std::size_t expected = problem.ragged_q ? problem.batch : 0;
  if (q_lengths.size() != expected) {
    return wrong(std::to_string(q_lengths.size()) + " lengths, but the problem has " +
                 std::to_string(expected));
  }
  for (const std::int32_t length : q_lengths) {
    if (length < 0 || static_cast<std::uint32_t>(length) > problem.q_len)
      return wrong(std::to_string(length) + " is not between 0 and " + std::to_string(problem.q_len));
  }
  return {};
}

}  // namespace cubinet
