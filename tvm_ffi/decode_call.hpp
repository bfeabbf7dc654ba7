// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kept_runtime.hpp"

#include <array>
#include <initializer_list>
#include <optional>

namespace cubinet::tvm_ffi {

// One call of decode attention: a problem, and the tensors of its run by the names of
// cubinet_attention_tensors.
class DecodeCall {
 public:
  cubinet_attention_problem problem = CUBINET_ATTENTION_PROBLEM_INIT;
  cubinet_plan_options options = CUBINET_PLAN_OPTIONS_INIT;

  // Adds the tensor of a role. `name` is the caller's name for it, for messages. nullopt is left
  // out.
  void add(const char* role, const char* name, const std::optional<dlpack::TensorView>& tensor);
  // Plans the problem, unless a plan is kept, and runs it on the thread's current stream of the
  // device of `q`, which was added. Without the tensors `scratch` and `counters` the run has a
  // workspace of this stream.
  Result<void> run(KeptRuntime& runtime);

 private:
  struct Given {
    const char* role;
    const char* name;
    dlpack::TensorView tensor;
  };

  // Returns the tensor of a role, or null.
  const Given* find(std::string_view role) const;
  Result<cubinet_attention_tensors> tensors_of(const Plan& plan, std::int32_t device) const;

  std::array<Given, 20> given_ = {};
  std::size_t count_ = 0;
};

// Returns invalid_argument if the tensor has another number of dimensions than `shape` names.
Result<void> check_rank(const char* name, const dlpack::TensorView& tensor, std::string_view shape);

// Returns the extent of a dimension as the problem states it. Returns invalid_argument for one that
// is no count of 32 bits.
Result<std::uint32_t> extent_of(const char* name, const dlpack::TensorView& tensor, int dimension);

// Returns the CUBINET_TYPE_ of a tensor's elements. Returns invalid_argument for other ones.
Result<std::int32_t> type_of(const char* name, const dlpack::TensorView& tensor);

// Sets mask and window from FlashAttention's window: a row sees `left` tokens before its own and
// `right` after it; -1: all. Returns unsupported for a window that no kernel has.
Result<void> set_mask(cubinet_attention_problem& problem, bool is_causal, std::int64_t left,
                      std::int64_t right);

}  // namespace cubinet::tvm_ffi
