// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/operation.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/spec/data_type.hpp>
#include <cubinet/spec/kernel_spec.hpp>

#include <cstdint>
#include <memory>

namespace cubinet {

// A kernel that merges two partial attention results by their log-sum-exps: attention over one part
// of the KV (a shared prefix, the tokens of one device) and over the rest. With m the larger
// log-sum-exp:
//
//   o = (e^(lse1 - m) o1 + e^(lse2 - m) o2) / (e^(lse1 - m) + e^(lse2 - m))
//   lse = m + ln(e^(lse1 - m) + e^(lse2 - m))
//
// A part whose log-sum-exp is -infinity has no weight, whatever its O contains, NaN included. If
// both are -infinity, the row is 0 and its log-sum-exp is -infinity. Only one of the parts may
// include the sinks.
//
// Bound to one device. A cheap handle, immutable and thread-safe. It keeps its module loaded. A
// graph that captured a run keeps the module too.
class AttentionMerge {
 public:
  struct Problem {
    std::uint32_t heads = 1;                // query heads
    std::uint32_t head_dim = 128;           // columns of O, a multiple of 8
    DataType data_type = DataType::bf16;    // the type of O of both parts: bf16, fp16 or fp32
    DataType data_type_o = DataType::bf16;  // the type of the merged O: bf16, fp16, fp32 or e4m3
    double output_scale = 1;                // applied to the merged O
    bool starts_early = false;              // PlanOptions::starts_early
    bool may_load = true;                   // PlanOptions::may_load
  };
  // `o` [tokens, heads, head_dim]; its first stride is ignored, as with AttentionProblem::ragged_q.
  // `lse` [tokens, heads], fp32, natural logarithm, contiguous. Alignments are those of
  // AttentionTensors.
  struct Part {
    DeviceTensor o;
    DeviceTensor lse;
  };
  struct Tensors {
    Part first;
    Part second;
    // The merged O and LSE may each be those of `first` or `second` if types and strides are equal.
    // Otherwise they share no memory with either part or with each other. An `lse` of address 0 is
    // not written.
    Part merged;
  };

  // Returns the kernel of a merge. REQUIRES: a problem that bind() accepts.
  static KernelSpec specification(const Problem& problem);

  // Finds and loads the kernel and compiles it if necessary. Returns an error (invalid_argument)
  // that names the field of the problem and its allowed values, or an error of the Runtime.
  static Result<AttentionMerge> bind(Runtime& runtime, const Problem& problem, int device);

  // Launches one kernel and does nothing else, like BoundAttention::run, so it may be captured.
  // Launches nothing if `tokens` is 0. Returns an error (invalid_argument) that names a tensor with
  // a wrong address, size, stride or alignment, and the required value.
  Result<void> run(const Tensors& tensors, std::uint32_t tokens, CUstream stream) const;

 private:
  struct Binding;
  explicit AttentionMerge(std::shared_ptr<const Binding> binding) : binding_(std::move(binding)) {}

  std::shared_ptr<const Binding> binding_;
};

}  // namespace cubinet
