// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/operation.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace cubinet {

// A cache of a kernel's recently written arguments, keyed by their tensors: a model runs one plan
// for each of its layers in turn, and the tensors do not move. Thread-safe and non-blocking: a slot
// that another thread uses is skipped. Allocates nothing after its construction.
class ArgumentCache {
 public:
  explicit ArgumentCache(std::size_t argument_bytes);

  // Copies the argument for exactly these tensors to `argument`. Returns whether it was found.
  bool find(const AttentionTensors& tensors, std::span<std::byte> argument);
  // Stores an argument. Replaces an older one if there is no room.
  void keep(const AttentionTensors& tensors, std::span<const std::byte> argument);

 private:
  struct Slot {
    std::atomic_flag taken;
    std::atomic<std::uint64_t> hash = 0;  // 0: empty
  };
  // Room for a few hundred layers. An argument is stored in one of the kPlaces slots from its hash
  // on.
  static constexpr std::size_t kSlots = 256;
  static constexpr std::size_t kPlaces = 4;

  static std::size_t slot_of(std::uint64_t hash, std::size_t place) { return (hash + place) % kSlots; }
  std::byte* tensors_at(std::size_t slot) { return entries_.get() + slot * entry_bytes_; }
  std::byte* argument_at(std::size_t slot) { return tensors_at(slot) + sizeof(AttentionTensors); }
  std::size_t place_for(std::uint64_t hash) const;

  std::size_t entry_bytes_;
  std::array<Slot, kSlots> slots_{};
  // Not initialised until a slot is filled, so that only filled slots use physical memory.
  std::unique_ptr<std::byte[]> entries_;
};

}  // namespace cubinet
