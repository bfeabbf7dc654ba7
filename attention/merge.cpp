// SPDX-License-Identifier: Apache-2.0
#include "rounding.hpp"
#include "tensor_shape.hpp"

#include <cubinet/attention/merge.hpp>
#include <cubinet/kernel_templates/attention_merge_parameters.h>
#include <cubinet/kernel_templates/fast_divisor.hpp>
#include <cubinet/runtime.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace cubinet {
namespace {

using kernel_templates::AttentionMergeParameters;
using kernel_templates::AttentionMergePart;

constexpr const char* kMergeTemplate = "attention_merge";
constexpr std::uint32_t kMergeThreads = 256;  // threads of a block, as in the template
constexpr std::uint32_t kColumnsOfLane = 8;
constexpr std::uint32_t kMostColumns = 1U << 16U;
constexpr std::uint32_t kMostHeads = 1U << 20U;

Error wrong_problem(const std::string& what) {
  return Error{ErrorCode::invalid_argument, "attention merge: " + what};
}

std::string name_of(DataType type) {
  return type <= DataType::uint64 ? std::string(to_string(type)) : std::to_string(static_cast<int>(type));
}

// Returns the shortest text of this number.
std::string text_of(double number) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

Result<void> check_merge(const AttentionMerge::Problem& problem) {
  if (problem.heads == 0 || problem.heads > kMostHeads) {
    return wrong_problem("`AttentionMerge::Problem::heads` is " + std::to_string(problem.heads) +
                         ", but must be 1 to " + std::to_string(kMostHeads));
  }
  if (problem.head_dim == 0 || problem.head_dim % kColumnsOfLane != 0 || problem.head_dim > kMostColumns) {
    return wrong_problem("`AttentionMerge::Problem::head_dim` is " + std::to_string(problem.head_dim) +
                         ", but must be a multiple of 8, at most " + std::to_string(kMostColumns));
  }
  const auto has_16_or_32_bits = [](DataType type) {
    return type == DataType::bf16 || type == DataType::fp16 || type == DataType::fp32;
  };
  if (!has_16_or_32_bits(problem.data_type))
    return wrong_problem("`AttentionMerge::Problem::data_type` is " + name_of(problem.data_type) +
                         ", but must be bf16, fp16 or fp32");
  if (!has_16_or_32_bits(problem.data_type_o) && problem.data_type_o != DataType::e4m3) {
    return wrong_problem("`AttentionMerge::Problem::data_type_o` is " + name_of(problem.data_type_o) +
                         ", but must be bf16, fp16, fp32 or e4m3");
  }
  const auto scale = static_cast<float>(problem.output_scale);
  if (!std::isfinite(scale) || scale <= 0) {
    return wrong_problem("`AttentionMerge::Problem::output_scale` is " + text_of(problem.output_scale) +
                         ", but must be a positive number of fp32");
  }
  return {};
}

// Returns the lanes of a warp that share a row, a power of two.
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

// A tensor of a merge with its memory range.
struct Place {
  const char* name;
  const DeviceTensor& tensor;
  TensorShape shape;  // of one sequence

  std::array<std::int64_t, 3> strides() const {
    if (!tensor.is_contiguous()) return {0, tensor.strides[1], tensor.strides[2]};
    const auto row = static_cast<std::int64_t>(shape.row);
    return {0, static_cast<std::int64_t>(shape.sizes[2]) * row, row};
  }
  bool is(const Place& other) const {
    return tensor.address == other.tensor.address && shape.element_bits == other.shape.element_bits &&
           strides() == other.strides();
  }
  // Returns whether two tensors overlap. Rows interleaved with the other's rows at the same strides
  // do not overlap.
  bool shares_memory_with(const Place& other) const {
    const Place& low = tensor.address <= other.tensor.address ? *this : other;
    const Place& high = &low == this ? other : *this;
    const std::uint64_t apart = high.tensor.address - low.tensor.address;
    if (apart >= low.shape.extent(low.strides())) return false;
    const std::uint64_t bytes = low.shape.element_bits / 8;
    if (bytes != high.shape.element_bits / 8 || low.strides() != high.strides() || apart % bytes != 0)
      return true;
    TensorShape both = low.shape;
    both.sizes[0] = 2;
    return both.overlaps({static_cast<std::int64_t>(apart / bytes), low.strides()[1], low.strides()[2]});
  }
};

// Returns an error if an output overlaps another tensor. If `may_be_the_same` is true, the output
// may equal an input: a lane reads a row before it writes it.
Result<void> check_disjoint(const Place& written, const Place& other, bool may_be_the_same) {
  if (may_be_the_same && written.is(other)) return {};
  if (!written.shares_memory_with(other)) return {};
  return wrong_tensor(written.name, std::string(" shares memory with ") + other.name +
                                        (may_be_the_same ? ", but not its type, strides and place" : "") +
                                        ": give it memory of its own");
}

}  // namespace

struct AttentionMerge::Binding {
  Problem problem;
  std::shared_ptr<const Device> device;
  Function function;
  AttentionMergeParameters prepared{};  // the part that does not depend on a run

  Result<void> check(const Tensors& tensors, std::uint32_t tokens) const;
};

Result<void> AttentionMerge::Binding::check(const Tensors& tensors, std::uint32_t tokens) const {
  const std::uint64_t rows = std::uint64_t{tokens} * problem.heads;
  if ((rows << static_cast<unsigned>(prepared.lanes_log2)) >
      std::numeric_limits<std::int32_t>::max() - kMergeThreads) {
    return wrong_problem(std::to_string(rows) + " rows of " + std::to_string(problem.head_dim) +
                         " columns are more than one launch takes: merge fewer tokens at a time");
  }
  const auto rows_of = [&](DataType type) {
    return TensorShape::of({1, tokens, problem.heads}, problem.head_dim, type);
  };
  const TensorShape sums = TensorShape::of({1, tokens, problem.heads}, 1, DataType::fp32);
  const Place parts[] = {{"first.o", tensors.first.o, rows_of(problem.data_type)},
                         {"second.o", tensors.second.o, rows_of(problem.data_type)}};
  const Place parts_lse[] = {{"first.lse", tensors.first.lse, sums},
                             {"second.lse", tensors.second.lse, sums}};
  const Place merged{"merged.o", tensors.merged.o, rows_of(problem.data_type_o)};
  const Place merged_lse{"merged.lse", tensors.merged.lse, sums};
  for (const Place& part : parts)
    CUBINET_TRY(check_strided(part.name, part.tensor, part.shape));
  CUBINET_TRY(check_distinct_rows(merged.name, merged.tensor, merged.shape));
  for (const Place* lse : {&parts_lse[0], &parts_lse[1], &merged_lse}) {
    if (lse == &merged_lse && lse->tensor.address == 0) continue;
    CUBINET_TRY(check_contiguous(lse->name, lse->tensor));
    CUBINET_TRY(check_place(lse->name, lse->tensor, lse->shape.contiguous_bytes, kWordBytes));
  }
  for (int part = 0; part < 2; ++part) {
    CUBINET_TRY(check_disjoint(merged, parts[part], true));
    CUBINET_TRY(check_disjoint(merged, parts_lse[part], false));
    if (merged_lse.tensor.address == 0) continue;
    CUBINET_TRY(check_disjoint(merged_lse, parts_lse[part], true));
    CUBINET_TRY(check_disjoint(merged_lse, parts[part], false));
  }
  if (merged_lse.tensor.address == 0) return {};
  return check_disjoint(merged_lse, merged, false);
}

KernelSpec AttentionMerge::specification(const Problem& problem) {
  const auto type = [](DataType value) { return ParameterValue(std::string(to_string(value))); };
  KernelSpec spec{kMergeTemplate, {}};
  spec.set("dtype", type(problem.data_type)).set("dtype_o", type(problem.data_type_o));
  return spec;
}

Result<AttentionMerge> AttentionMerge::bind(Runtime& runtime, const Problem& problem, int device) {
  CUBINET_TRY(check_merge(problem));
  auto binding = std::make_shared<Binding>();
  binding->problem = problem;
  CUBINET_TRY_ASSIGN(binding->device, runtime.device(device));
  CUBINET_TRY_ASSIGN(binding->function,
                     runtime.function(specification(problem), device, kMergeTemplate,
                                      problem.may_load ? LoadPolicy::may_load : LoadPolicy::loaded_only));
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
  config.grid = {divide_up(threads, kMergeThreads), 1, 1};
  config.stream = stream;
  config.programmatic_launch = binding.problem.starts_early;
  return binding.function.launch(config, argument);
}

}  // namespace cubinet
