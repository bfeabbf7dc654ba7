// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/operation.hpp>
#include <cubinet/kernel_templates/attention_decode_parameters.h>

namespace cubinet {

// Writes the argument of the kernels of the decode families and of attention_combine.
class DecodeArguments final : public ArgumentWriter {
 public:
  DecodeArguments(const kernel_templates::AttentionDecodeParameters& parameters,
                  const WorkspaceSizes& workspace, const AttentionProblem& problem)
      : parameters_(parameters),
        workspace_(workspace),
        ragged_q_(problem.ragged_q),
        sinks_(problem.sinks),
        custom_mask_(problem.mask == AttentionMask::custom),
        scales_on_device_(problem.scales_on_device),
        kv_scales_(problem.kv_scales),
        heads_kv_(problem.heads_kv) {}

  std::size_t size() const override { return sizeof(parameters_); }
  void prepare(std::span<std::byte> argument) const override;
  void write(const AttentionTensors& tensors, std::span<std::byte> argument) const override;

 private:
  kernel_templates::AttentionDecodeParameters parameters_;  // holds no addresses
  WorkspaceSizes workspace_;
  // If true, the kernel reads the tensors that only some problems have.
  bool ragged_q_;
  bool sinks_;
  bool custom_mask_;
  bool scales_on_device_;
  KvScales kv_scales_;
  std::uint32_t heads_kv_;
};

}  // namespace cubinet
