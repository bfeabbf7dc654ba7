// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensor_shape.hpp"

#include <cubinet/attention/operation.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cubinet {

struct NamedTensor {
  std::string_view name;
  const DeviceTensor* tensor;
};
// Returns all tensors, including those of address 0.
inline constexpr std::size_t kAttentionTensors = 28;
std::array<NamedTensor, kAttentionTensors> named_tensors(const AttentionTensors& tensors);

// Checks that the tensors of a run fit the problem of a plan. Without it, a kernel would fail with
// a misaligned or illegal address, which names no tensor. Allocates only for an error.
class TensorChecks {
 public:
  TensorChecks() = default;
  TensorChecks(const AttentionProblem& problem, const WorkspaceSizes& workspace,
               const AttentionPlan::TensorRules& rules);

  // Returns an error (invalid_argument) that names the tensor, its value and the allowed values.
  Result<void> check(const AttentionTensors& tensors) const;

 private:
  Result<void> check_tokens(std::string_view name, const DeviceTensor& tensor) const;
  Result<void> check_pool(const AttentionTensors& tensors) const;
  Result<void> check_page_table(const DeviceTensor& table) const;
  Result<void> check_head_scales(std::string_view name, const DeviceTensor& scales) const;
  Result<void> check_options(const AttentionTensors& tensors) const;
  Result<void> check_attention(const AttentionTensors& tensors) const;
  static Result<void> check_same_tokens(std::string_view name, std::uint64_t tokens, std::string_view other,
                                        std::uint64_t others);
  std::uint64_t lse_bytes(const DeviceTensor& q) const;
  Result<void> check_append(const AttentionTensors& tensors) const;

  TensorShape q_, k_, v_, o_;
  TensorShape new_q_, new_k_, new_v_;
  AttentionProblem problem_;
  std::uint64_t pages_ = 0;  // pages of a sequence; 0: KV is not paged
  WorkspaceSizes workspace_;
  AttentionPlan::TensorRules rules_;
};

}  // namespace cubinet
