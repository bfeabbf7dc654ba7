// SPDX-License-Identifier: Apache-2.0
#include "tensor_shape.hpp"

#include <cubinet/attention/merge.hpp>
#include <cubinet/kernel_templates/attention_merge_parameters.h>
#include <cubinet/kernel_templates/fast_divisor.hpp>
#include <cubinet/runtime.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace cubinet {
namespace {

using kernel_templates::AttentionMergeParameters;
using kernel_templates::AttentionMergePart;

constexpr const char* kMergeTemplate = "attention_merge";
constexpr std::uint32_t kMergeThreads = 256;  // of a block, as the template says
constexpr std::uint32_t kColumnsOfLane = 8;
constexpr std::uint32_t kMostColumns = 1U << 16U;
constexpr std::uint32_t kMostHeads = 1U << 20U;

Error wrong_problem(const std::string& what) {
  return Error{ErrorCode::invalid_argument, "attention merge: " + what};
}

Result<void> check_merge(const AttentionMerge::Problem& problem) {
  if (problem.heads == 0 || problem.heads > kMostHeads) {
    return wrong_problem("heads is " + std::to_string(problem.heads) + ", but must be 1 to " +
                         std::to_string(kMostHeads));
  }
  if (problem.head_dim == 0 || problem.head_dim % kColumnsOfLane != 0 || problem.head_dim > kMostColumns) {
    return wrong_problem("head_dim is " + std::to_string(problem.head_dim) +
                         ", but must be a multiple of 8, at most " + std::to_string(kMostColumns));
  }
  const auto scale = static_cast<float>(problem.output_scale);
  if (!std::isfinite(scale) || scale <= 0) {
    return wrong_problem("output_scale is " + std::to_string(problem.output_scale) +
                         ", but must be a positive number of fp32");
  }
  return {};
}

// Lanes of a warp that share a row: a power of two.
std::uint32_t row_lanes(const AttentionMerge::Problem& problem) {
  return std::bit_ceil(std::min(problem.head_dim / kColumnsOfLane, 32U));
}

AttentionMergePart argument_of(const AttentionMerge::Part& part, const AttentionMerge::Problem& problem) {
  AttentionMergePart argument{part.o.address, part.lse.address,
                              static_cast<long long>(problem.heads) * problem.head_dim, problem.head_dim};
  if (!part.o.is_contiguous()) {
    argument.token_stride = part.o.strides[1];
    argument.head_stride = part.o.strides[2];
  }
  return argument;
}

// The rows of the merged O may be those of a part, which a lane reads before it writes them.
Result<void> check_in_place(const AttentionMerge::Tensors& tensors, const AttentionMerge::Problem& problem) {
  for (const AttentionMerge::Part* part : {&tensors.first, &tensors.second}) {
    if (part->o.address != tensors.merged.o.address) continue;
    if (problem.data_type == problem.data_type_o && part->o.strides == tensors.merged.o.strides) continue;
    return wrong_tensor("merged.o",
                        " is a part's, but they differ in type or strides: give it memory of its own");
  }
  return {};
}

}  // namespace

struct AttentionMerge::Binding {
  Problem problem;
  std::shared_ptr<const Device> device;
  Function function;
  AttentionMergeParameters prepared{};  // all that does not depend on a run

  Result<void> check(const Tensors& tensors, std::uint32_t tokens) const;
};

Result<void> AttentionMerge::Binding::check(const Tensors& tensors, std::uint32_t tokens) const {
  const std::uint64_t rows = std::uint64_t{tokens} * problem.heads;
  if ((rows << static_cast<unsigned>(prepared.lanes_log2)) >
      std::numeric_limits<std::int32_t>::max() - kMergeThreads) {
    return wrong_problem(std::to_string(rows) + " rows of " + std::to_string(problem.head_dim) +
                         " columns are more than one launch takes: merge fewer tokens at a time");
  }
  const auto shape = [&](DataType type) {
    return TensorShape::of({1, tokens, problem.heads}, problem.head_dim, type);
  };
  const std::uint64_t lse_bytes = rows * sizeof(float);
  CUBINET_TRY(check_strided("first.o", tensors.first.o, shape(problem.data_type)));
  CUBINET_TRY(check_strided("second.o", tensors.second.o, shape(problem.data_type)));
  CUBINET_TRY(check_distinct_rows("merged.o", tensors.merged.o, shape(problem.data_type_o)));
  CUBINET_TRY(check_in_place(tensors, problem));
  const std::pair<const char*, const DeviceTensor*> sums[] = {{"first.lse", &tensors.first.lse},
                                                              {"second.lse", &tensors.second.lse},
                                                              {"merged.lse", &tensors.merged.lse}};
  for (const auto& [name, lse] : sums) {
    if (lse == &tensors.merged.lse && lse->address == 0) continue;
    CUBINET_TRY(check_contiguous(name, *lse));
    CUBINET_TRY(check_place(name, *lse, lse_bytes, kWordBytes));
  }
  return {};
}

Result<AttentionMerge> AttentionMerge::bind(Runtime& runtime, const Problem& problem, int device) {
  CUBINET_TRY(check_merge(problem));
  auto binding = std::make_shared<Binding>();
  binding->problem = problem;
  CUBINET_TRY_ASSIGN(binding->device, runtime.device(device));
  const auto type = [](DataType value) { return ParameterValue(std::string(to_string(value))); };
  KernelSpec spec{kMergeTemplate, {}};
  spec.set("dtype", type(problem.data_type)).set("dtype_o", type(problem.data_type_o));
  CUBINET_TRY_ASSIGN(binding->function, runtime.function(spec, device, kMergeTemplate));
  AttentionMergeParameters& p = binding->prepared;
  CUBINET_TRY_ASSIGN(p.heads, kernel_templates::make_fast_divisor(problem.heads));
  p.row_vectors = static_cast<int>(problem.head_dim / kColumnsOfLane);
  p.lanes_log2 = std::countr_zero(row_lanes(problem));
  p.output_scale = static_cast<float>(problem.output_scale);
  return AttentionMerge(std::move(binding));
}

Result<void> AttentionMerge::run(const Tensors& tensors, std::uint32_t tokens, CUstream stream) const {
  const Binding& binding = *binding_;
  if (tokens == 0) return {};
  CUBINET_TRY(binding.check(tensors, tokens));
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, binding.device->make_current());
  AttentionMergeParameters argument = binding.prepared;
  argument.first = argument_of(tensors.first, binding.problem);
  argument.second = argument_of(tensors.second, binding.problem);
  argument.merged = argument_of(tensors.merged, binding.problem);
  const std::uint32_t rows = tokens * binding.problem.heads;
  argument.rows = static_cast<int>(rows);
  LaunchConfig config;
  const std::uint32_t threads = rows << static_cast<unsigned>(argument.lanes_log2);
  config.grid = {(threads + kMergeThreads - 1) / kMergeThreads, 1, 1};
  config.stream = stream;
  config.programmatic_launch = binding.problem.starts_early;
  return binding.function.launch(config, argument);
}

}  // namespace cubinet
