// SPDX-License-Identifier: Apache-2.0
#include "size_limits.hpp"

#include <initializer_list>
#include <string>
#include <string_view>

namespace cubinet {
namespace {

struct Factor {
  std::string_view field;
  std::uint64_t value;
};

struct Tensor {
  std::string_view name;
  std::initializer_list<Factor> factors;
  std::uint64_t element_bits;
  std::string_view remedy;
};

Result<void> check_size(const Tensor& tensor) {
  std::uint64_t bits = tensor.element_bits;
  for (const Factor& factor : tensor.factors)
    bits = saturating_product(bits, factor.value);
  if (bits <= 8 * kLargestTensorBytes) return {};
  std::string product;
  for (const Factor& factor : tensor.factors) {
    product += product.empty() ? "" : " x ";
    product += std::string(factor.field) + " " + std::to_string(factor.value);
  }
  return Error{ErrorCode::invalid_argument,
               std::string(tensor.name) + " has " + product + " elements of " +
                   std::to_string(tensor.element_bits) + " bits: a tensor must not exceed 2^56 bytes",
               std::string(tensor.remedy)};
}

}  // namespace

std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

std::uint64_t query_tokens(const AttentionProblem& problem) {
  return std::uint64_t{problem.batch} * problem.q_len;
}

Result<void> check_tensor_sizes(const AttentionProblem& problem) {
  constexpr std::string_view kFewerQueries = "reduce `AttentionProblem::batch` or `AttentionProblem::q_len`";
  constexpr std::string_view kFewerTokens = "reduce `AttentionProblem::batch` or `AttentionProblem::kv_len`";
  const Factor batch{"`AttentionProblem::batch`", problem.batch};
  const Factor q_len{"`AttentionProblem::q_len`", problem.q_len};
  const Factor heads_q{"`AttentionProblem::heads_q`", problem.heads_q};
  const Factor heads_kv{"`AttentionProblem::heads_kv`", problem.heads_kv};
  const Factor columns_qk{"`AttentionProblem::head_dim_qk`", problem.head_dim_qk};
  const Factor columns_v{"`AttentionProblem::head_dim_v`", problem.head_dim_v};
  CUBINET_TRY(
      check_size({"q", {batch, q_len, heads_q, columns_qk}, bits_of(problem.data_type_q), kFewerQueries}));
  CUBINET_TRY(
      check_size({"o", {batch, q_len, heads_q, columns_v}, bits_of(problem.data_type_o), kFewerQueries}));
  // A row of the log-sum-exp has 32 bits, and a row of q at least as many.
  if (problem.mask == AttentionMask::custom)
    CUBINET_TRY(
        check_size({"mask", {batch, q_len, {"mask_words", problem.mask_words()}}, 32, kFewerQueries}));
  if (problem.append) {
    const std::uint64_t bits = bits_of(problem.append->data_type);
    CUBINET_TRY(check_size({"new_q", {batch, q_len, heads_q, columns_qk}, bits, kFewerQueries}));
    CUBINET_TRY(check_size({"new_k", {batch, q_len, heads_kv, columns_qk}, bits, kFewerQueries}));
    CUBINET_TRY(check_size({"new_v", {batch, q_len, heads_kv, columns_v}, bits, kFewerQueries}));
  }
  // The number of pages is unknown. A page, and a row of the page table, are always small enough.
  if (problem.layout == QkvLayout::paged_kv) return {};
  // Sequences that are stored one behind the other may be shorter than kv_len: only one of them
  // must fit.
  const Factor sequences{"`AttentionProblem::batch`",
                         problem.layout == QkvLayout::separate_qkv ? 1 : problem.batch};
  const Factor kv_len{"`AttentionProblem::kv_len`", problem.kv_len};
  CUBINET_TRY(check_size(
      {"k", {sequences, kv_len, heads_kv, columns_qk}, bits_of(problem.data_type_k), kFewerTokens}));
  return check_size(
      {"v", {sequences, kv_len, heads_kv, columns_v}, bits_of(problem.data_type_v), kFewerTokens});
}

}  // namespace cubinet
