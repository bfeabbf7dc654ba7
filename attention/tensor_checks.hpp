// SPDX-License-Identifier: Apache-2.0
#pragma once

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
// All of them, those of address 0 included.
inline constexpr std::size_t kAttentionTensors = 26;
std::array<NamedTensor, kAttentionTensors> named_tensors(const AttentionTensors& tensors);

// Whether the tensors of a run fit the problem of a plan: what a kernel that met them would tell as a
// misaligned or illegal address, which names nothing. Allocates only where something is wrong.
class TensorChecks {
 public:
  TensorChecks() = default;
  TensorChecks(const AttentionProblem& problem, const WorkspaceSizes& workspace,
               const AttentionPlan::TensorRules& rules);

  // invalid_argument that names the tensor, what it is and what it may be.
  Result<void> check(const AttentionTensors& tensors) const;

 private:
  // A tensor of the innermost row and three dimensions outside it, and what its contiguous strides would be.
  struct Shape {
    std::array<std::uint64_t, 3> sizes = {1, 1, 1};
    std::uint64_t row = 1;  // elements
    std::uint32_t element_bits = 16;
    std::uint64_t contiguous_bytes = 0;
    std::array<bool, 3> counts_on_device = {};  // whose size here is the least that it may be

    static Shape of(std::array<std::uint64_t, 3> sizes, std::uint64_t row, DataType type);
    // Bytes from the first element to behind the last under these strides.
    std::uint64_t extent(const std::array<std::int64_t, 3>& strides) const;
    // Whether two rows share elements; also said of rows that interleave, which nobody lays out.
    // REQUIRES: strides that check_strided() takes.
    bool overlaps(const std::array<std::int64_t, 3>& strides) const;
  };

  static Result<void> check_strided(std::string_view name, const DeviceTensor& tensor, const Shape& shape);
  static Result<void> check_distinct_rows(std::string_view name, const DeviceTensor& tensor,
                                          const Shape& shape);
  Result<void> check_tokens(std::string_view name, const DeviceTensor& tensor) const;
  Result<void> check_page_table(const DeviceTensor& table) const;
  Result<void> check_options(const AttentionTensors& tensors) const;
  Result<void> check_attention(const AttentionTensors& tensors) const;
  Result<void> check_append(const AttentionTensors& tensors) const;

  Shape q_, k_, v_, o_;
  Shape new_q_, new_k_, new_v_;
  AttentionProblem problem_;
  std::uint64_t pages_ = 0;  // of a sequence; 0: KV is not paged
  std::uint64_t lse_bytes_ = 0;
  WorkspaceSizes workspace_;
  AttentionPlan::TensorRules rules_;
};

}  // namespace cubinet
