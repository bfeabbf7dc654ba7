// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host_model.hpp"
#include "loop.hpp"

#include <cubinet/loader/stream.hpp>
#include <cubinet/session.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace serving_loop {

struct Arithmetic {
  cubinet::AttentionNumerics numerics = cubinet::AttentionNumerics::invariant;
  cubinet::DataType cache = cubinet::DataType::bf16;  // of K and V; invariant numerics needs bf16
};

// The model on a device. Two graphs serve all steps, because kernels read lengths, offsets and
// pages from the device. One attends with kernels for prompts, which serve any step. The other
// attends with kernels for generation, which are faster for steps of a few tokens per sequence.
class DeviceModel final : public Model {
 public:
  // Compiles the kernels that the session does not have, allocates memory and captures the graphs,
  // as a server does when it starts. The memory and the graphs serve all steps within the bounds.
  static cubinet::Result<DeviceModel> create(const cubinet::Session& session, const Bounds& bounds,
                                             const Arithmetic& arithmetic, const Weights& weights);

  std::size_t row_elements() const override { return kRow; }
  cubinet::Result<void> run(const Step& step, std::span<Token> next, std::span<std::uint16_t> rows) override;
  // Return the names of the kernels of attention in both graphs, in the order of their launches.
  const std::string& prompt_kernels() const { return stages_[0].kernels; }
  const std::string& generation_kernels() const { return stages_[1].kernels; }
  // Fills the cache with NaN, so that a row that reads a token before it is written is NaN.
  cubinet::Result<void> clear_cache() const;

 private:
  struct Buffers {
    cubinet::DeviceBuffer tokens, q_offsets, kv_lengths, page_table;  // of Step
    cubinet::DeviceBuffer table, cos_sin;                             // of Weights
    cubinet::DeviceBuffer qkv;                                        // [tokens of a step, kQkvRow]
    cubinet::DeviceBuffer k, v;                                       // [pages, page, kKvHeads, kHeadDim]
    cubinet::DeviceBuffer o;                                          // [tokens of a step, kRow]
    cubinet::DeviceBuffer next;                                       // [tokens of a step]
  };
  // A captured graph uses the workspace as long as it is launched. It keeps its kernels itself.
  struct Stage {
    cubinet::AttentionWorkspace workspace;
    cubinet::Graph graph;
    std::string kernels;  // of attention, in the order of their launches
  };
  DeviceModel(Buffers buffers, cubinet::Stream stream)
      : buffers_(std::move(buffers)), stream_(std::move(stream)) {}
  static cubinet::Result<Buffers> allocate(const std::shared_ptr<const cubinet::Device>& device,
                                           const Bounds& bounds, const Arithmetic& arithmetic,
                                           const Weights& weights);
  cubinet::Result<Stage> capture(const cubinet::Session& session, const cubinet::AttentionProblem& problem,
                                 std::uint32_t tokens) const;

  Buffers buffers_;
  cubinet::Stream stream_;
  std::vector<Stage> stages_;  // for prompts, for generation
};

}  // namespace serving_loop
