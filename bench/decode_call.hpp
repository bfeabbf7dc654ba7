// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/decode_inputs.hpp>
#include <cubinet/attention/decode_plan.hpp>
#include <cubinet/attention/decode_problem.hpp>
#include <cubinet/loader/memory.hpp>
#include <cubinet/runtime.hpp>

#include <memory>
#include <string>
#include <vector>

namespace cubinet::bench {

struct NamedProblem {
  std::string name;
  DecodeProblem problem;
};

// Llama-3-70B's attention (64 query and 8 KV heads of 128, bf16) at batch 1, 16, 64, KV 4096 and 16384, page
// 16 and 64.
std::vector<NamedProblem> llama_problems();
// Small problems of every shape that the kernel distinguishes, for a sanitizer's pace.
std::vector<NamedProblem> small_problems();

// The kernels of one plan.
struct DecodeKernels {
  Function main;
  Function reduce;  // empty when the plan does not reduce
};
Result<DecodeKernels> request_kernels(Runtime& runtime, const DecodePlan& plan, int device);

enum class Poison { outputs, outputs_and_workspace };

// One problem's tensors on a device, the KV cache in `copies` places with a page table each, so that a timed
// call reads other memory than the one before it.
class DecodeCall {
 public:
  static Result<DecodeCall> create(const std::shared_ptr<const Device>& device, const DecodeProblem& problem,
                                   const DecodeInputs& inputs, int copies);

  const DecodeProblem& problem() const { return problem_; }
  const DecodePlan& plan() const { return plan_; }
  int copies() const { return static_cast<int>(calls_.size()); }
  std::uint64_t kv_bytes() const { return kv_bytes_; }  // that one call has to read

  // Fills with NaN what the call has to write.
  Result<void> poison(Poison what) const;
  Result<void> launch(const DecodeKernels& kernels, int copy, CUstream stream) const;
  Result<Bytes> read_output() const;
  Result<std::vector<float>> read_lse() const;

 private:
  DecodeCall() = default;
  DecodeProblem problem_;
  DecodePlan plan_;
  std::vector<DeviceBuffer> buffers_;  // q, k, v, o, lse, page tables, lengths, workspace
  std::vector<kernel_templates::AttentionDecodeParameters> calls_;  // by copy
  std::uint64_t kv_bytes_ = 0;
};

}  // namespace cubinet::bench
