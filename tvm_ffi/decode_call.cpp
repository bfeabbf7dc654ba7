// SPDX-License-Identifier: Apache-2.0
#include "decode_call.hpp"

#include "function.hpp"
#include "host.hpp"

#include <cubinet/dlpack/element_types.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>

namespace cubinet::tvm_ffi {
namespace {

Error refuse(const char* name, std::string_view reason, std::string remedy) {
  return {ErrorCode::invalid_argument, fmt::format("'{}' {}", name, reason), std::move(remedy)};
}

}  // namespace

void DecodeCall::add(const char* role, const char* name, const std::optional<dlpack::TensorView>& tensor) {
  if (tensor) given_[count_++] = {role, name, *tensor};
}

const DecodeCall::Given* DecodeCall::find(std::string_view role) const {
  for (std::size_t i = 0; i < count_; ++i)
    if (role == given_[i].role) return &given_[i];
  return nullptr;
}

Result<cubinet_attention_tensors> DecodeCall::tensors_of(const Plan& plan, std::int32_t device) const {
  cubinet_attention_tensors tensors = CUBINET_ATTENTION_TENSORS_INIT;
  for (const dlpack::TensorRole& role : plan.roles) {
    const Given* const given = find(role.name);
    if (given == nullptr) {
      if (role.is_required && role.is_used)
        return refuse(role.name, "is missing", "pass a tensor of the shape " + shape_text(role));
      continue;
    }
    auto& target = *static_cast<cubinet_tensor*>(
        static_cast<void*>(static_cast<char*>(static_cast<void*>(&tensors)) + role.offset));
    if (const auto refusal = describe(role, device, given->tensor, target))
      return refuse(given->name, refusal->reason, refusal->remedy);
  }
  return tensors;
}

Result<void> DecodeCall::run(KeptRuntime& runtime) {
  const Given& q = *find("q");
  if (q.tensor.device.type != kDLCUDA || q.tensor.device.id < 0)
    return refuse(q.name, "is " + place_of(q.tensor), "pass a tensor on a CUDA device");
  const std::int32_t device = q.tensor.device.id;
  const auto current_stream = host().current_stream;
  if (current_stream == nullptr) {
    return Error{ErrorCode::unavailable, "this process has no library of tvm-ffi, which knows the stream",
                 "call the function through tvm-ffi"};
  }
  CUBINET_TRY_ASSIGN(const auto plan, runtime.plan(problem, options, device));
  CUBINET_TRY_ASSIGN(cubinet_attention_tensors tensors, tensors_of(*plan, device));
  if (tensors.v.address == 0) tensors.v = tensors.k;  // latent attention has one pool
  void* const stream = current_stream(kDLCUDA, device);
  const cubinet_workspace* workspace = nullptr;
  if (tensors.scratch.address == 0 || tensors.counters.address == 0) {
    CUBINET_TRY_ASSIGN(workspace, runtime.workspace(*plan, device, stream));
  }
  return call_c([&](cubinet_error** error) {
    return cubinet_attention_run(plan->attention.get(), &tensors, workspace, stream, error);
  });
}

Result<void> check_rank(const char* name, const dlpack::TensorView& tensor, std::string_view shape) {
  if (tensor.dimensions == std::count(shape.begin(), shape.end(), ',') + 1) return {};
  return refuse(name, fmt::format("has the shape {}; expected [{}]", shape_text(tensor), shape),
                "pass a tensor of this shape");
}

Result<std::uint32_t> extent_of(const char* name, const dlpack::TensorView& tensor, int dimension) {
  const std::int64_t extent = tensor.shape[dimension];
  if (extent < 0 || extent > std::numeric_limits<std::uint32_t>::max())
    return refuse(name, "has the shape " + shape_text(tensor), "pass a tensor with extents of 32 bits");
  return static_cast<std::uint32_t>(extent);
}

Result<std::int32_t> type_of(const char* name, const dlpack::TensorView& tensor) {
  const std::int32_t type = dlpack::type_of(tensor.type);
  if (type != 0) return type;
  return refuse(name, "has elements of type " + dlpack::name_of(tensor.type),
                "pass one of " + dlpack::type_names());
}

Result<void> set_mask(cubinet_attention_problem& problem, bool is_causal, std::int64_t left,
                      std::int64_t right) {
  if (left >= std::numeric_limits<std::int32_t>::max())
    return refuse("window_left", fmt::format("is {}", left), "pass a number of tokens, or -1");
  // The last row has no tokens after it, so with one query token both masks are equal.
  const bool causal = is_causal || right == 0 || problem.q_len == 1;
  if (!causal && (left >= 0 || right > 0)) {
    return Error{
        ErrorCode::unsupported,
        fmt::format("the window ({}, {}) without a causal mask is one that no kernel has", left, right),
        "pass causal = true, or a right side of 0"};
  }
  problem.mask = causal ? CUBINET_MASK_CAUSAL : CUBINET_MASK_DENSE;
  problem.window = left >= 0 ? static_cast<std::uint32_t>(left + 1) : 0;
  return {};
}

}  // namespace cubinet::tvm_ffi
