// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/operation.hpp>
#include <cubinet/kernel_templates/attention_decode_parameters.h>

namespace cubinet {

// The argument of both kernels of the template `attention_decode`.
class DecodeArguments final : public ArgumentWriter {
 public:
  DecodeArguments(const kernel_templates::AttentionDecodeParameters& parameters,
                  const WorkspaceSizes& workspace)
      : parameters_(parameters), workspace_(workspace) {}

  std::size_t size() const override { return sizeof(parameters_); }
  void prepare(std::span<std::byte> argument) const override;
  void write(const AttentionTensors& tensors, std::span<std::byte> argument) const override;

 private:
  kernel_templates::AttentionDecodeParameters parameters_;  // without addresses
  WorkspaceSizes workspace_;
};

}  // namespace cubinet
