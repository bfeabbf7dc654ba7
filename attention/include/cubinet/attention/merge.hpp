// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/operation.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/spec/data_type.hpp>

#include <cstdint>
#include <memory>

namespace cubinet {

// Attention over one part of the KV (a prefix that sequences share, a device's own tokens) and over the rest,
// brought together by their log-sum-exps: with m the larger one,
//   o = (e^(lse1 - m) o1 + e^(lse2 - m) o2) / (e^(lse1 - m) + e^(lse2 - m)),  lse = m + ln(the same sum).
// A part whose log-sum-exp is -infinity has no weight, whatever its O holds, NaN included; a row of two such
// parts is 0, its log-sum-exp -infinity. Sinks belong to one of the parts.
//
// Bound to one device. A cheap handle, immutable and thread-safe; it keeps its module loaded, and a CUDA
// graph of its runs needs it, or a copy, for as long as it is launched.
class AttentionMerge {
 public:
  struct Problem {
    std::uint32_t heads = 1;                // query heads
    std::uint32_t head_dim = 128;           // columns of O: a multiple of 8
    DataType data_type = DataType::bf16;    // of O of both parts: bf16, fp16 or fp32
    DataType data_type_o = DataType::bf16;  // of the merged O: one of these or e4m3
    double output_scale = 1;                // of the merged O
    bool starts_early = false;              // PlanOptions::starts_early
  };
  // o: [tokens, heads, head_dim], its first stride not looked at, as with AttentionProblem::ragged_q. lse:
  // [tokens, heads] fp32, natural logarithm, contiguous. Aligned as AttentionTensors are.
  struct Part {
    DeviceTensor o;
    DeviceTensor lse;
  };
  struct Tensors {
    Part first;
    Part second;
    // O and LSE may each be first's or second's, of the same type and strides, else share no memory with
    // either or with each other. lse: address 0, not wanted.
    Part merged;
  };

  // Finds and loads the kernel, compiling it if it has to be. invalid_argument that names the field of the
  // problem and what it may be; else the Runtime's errors.
  static Result<AttentionMerge> bind(Runtime& runtime, const Problem& problem, int device);

  // Launches one kernel and does nothing else, as BoundAttention::run: it may be captured. No tokens: nothing
  // is launched. invalid_argument names a tensor whose address, size, stride or alignment does not fit, and
  // what would.
  Result<void> run(const Tensors& tensors, std::uint32_t tokens, CUstream stream) const;

 private:
  struct Binding;
  explicit AttentionMerge(std::shared_ptr<const Binding> binding) : binding_(std::move(binding)) {}

  std::shared_ptr<const Binding> binding_;
};

}  // namespace cubinet
