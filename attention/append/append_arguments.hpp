// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/operation.hpp>
#include <cubinet/kernel_templates/attention_append_parameters.h>

namespace cubinet {

// The argument of the kernel of the template `attention_append`.
class AppendArguments final : public ArgumentWriter {
 public:
  // REQUIRES: check_problem(problem) holds; problem.append.
  explicit AppendArguments(const AttentionProblem& problem);

  std::size_t size() const override { return sizeof(parameters_); }
  void prepare(std::span<std::byte> argument) const override;
  void write(const AttentionTensors& tensors, std::span<std::byte> argument) const override;

  const kernel_templates::AttentionAppendParameters& parameters() const { return parameters_; }

 private:
  kernel_templates::AttentionAppendParameters parameters_;  // without addresses
  // True if the optional tensor is read.
  bool ragged_q_;
  bool positions_;
  bool scales_on_device_;
  KvScales kv_scales_;
};

}  // namespace cubinet
