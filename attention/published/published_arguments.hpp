// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "published_launch.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace cubinet {

// The argument of a published kernel, written member by member by the layout of its version.
class PublishedArguments final : public ArgumentWriter {
 public:
  // REQUIRES: launch->layout.
  explicit PublishedArguments(std::shared_ptr<const PublishedLaunch> launch) : launch_(std::move(launch)) {}

  std::size_t size() const override { return launch_->layout->bytes; }
  void prepare(std::span<std::byte> argument) const override;
  void write(const AttentionTensors& tensors, std::span<std::byte> argument) const override;
  std::size_t tensor_maps(const AttentionTensors& tensors,
                          std::span<PlacedTensorMap, kMaximumTensorMaps> maps) const override;

 private:
  std::shared_ptr<const PublishedLaunch> launch_;
};

}  // namespace cubinet
