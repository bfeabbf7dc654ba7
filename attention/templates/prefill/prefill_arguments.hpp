// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "prefill_family.hpp"

#include <cubinet/attention/operation.hpp>
#include <cubinet/kernel_templates/attention_prefill_parameters.h>

namespace cubinet {

// Writes the argument of the kernels of the prefill families and of attention_prefill_combine.
class PrefillArguments final : public ArgumentWriter {
 public:
  PrefillArguments(const kernel_templates::AttentionPrefillParameters& parameters,
                   const PrefillFamily& family, const PrefillTile& tile, const PrefillBlock& block,
                   const WorkspaceSizes& workspace, const AttentionProblem& problem)
      : parameters_(parameters),
        family_(family),
        tile_(tile),
        block_(block),
        workspace_(workspace),
        problem_(problem) {}

  std::size_t size() const override;
  void prepare(std::span<std::byte> argument) const override;
  void write(const AttentionTensors& tensors, std::span<std::byte> argument) const override;
  std::size_t tensor_maps(const AttentionTensors& tensors,
                          std::span<PlacedTensorMap, kMaximumTensorMaps> maps) const override;

 private:
  // Replaces the strides that the tensors state.
  void set_strides(const AttentionTensors& tensors,
                   kernel_templates::AttentionPrefillParameters& parameters) const;

  kernel_templates::AttentionPrefillParameters parameters_;  // holds no addresses
  const PrefillFamily& family_;
  PrefillTile tile_;
  PrefillBlock block_;
  WorkspaceSizes workspace_;
  AttentionProblem problem_;
};

}  // namespace cubinet
