// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/loader/tensor_map.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cubinet {

// Tensor maps that were encoded lately, by what they were encoded from: a model runs one plan for each of its
// layers in turn, over tensors that do not move. Thread-safe and without waiting: a slot that another thread
// is at is passed by, and the map encoded for this run alone. Allocates nothing after its construction.
class TensorMapCache {
 public:
  // The map's encoding, into 128 bytes. The driver's refusal, or check_tensor_map's.
  Result<void> write(const Device& device, const TensorMapDescription& map, std::byte* target);

 private:
  struct Slot {
    std::atomic_flag taken;
    bool filled = false;
    TensorMapDescription description;
    TensorMap encoded;
  };
  // Several maps of some hundred layers; a slot has 256 bytes.
  static constexpr std::size_t kSlots = 512;

  std::array<Slot, kSlots> slots_{};
};

}  // namespace cubinet
