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

// A kernel's arguments that were written lately, by the tensors that they were written from: a model runs one
// plan for each of its layers in turn, over tensors that do not move. Thread-safe and without waiting: an
// argument that another thread is at is passed by. Allocates nothing after its construction.
class ArgumentCache {
 public:
  explicit ArgumentCache(std::size_t argument_bytes);

  // Whether the argument for exactly these tensors is there, and then into `argument`.
  bool find(const AttentionTensors& tensors, std::span<std::byte> argument);
  // In the place of an older one where there is no room.
  void keep(const AttentionTensors& tensors, std::span<const std::byte> argument);

 private:
  struct Slot {
    std::atomic_flag taken;
    std::atomic<std::uint64_t> hash = 0;  // 0: empty
  };
  // Some hundred layers; an argument lies in one of the slots behind that of its hash.
  static constexpr std::size_t kSlots = 256;
  static constexpr std::size_t kPlaces = 4;

  static std::size_t slot_of(std::uint64_t hash, std::size_t place) { return (hash + place) % kSlots; }
  std::byte* tensors_at(std::size_t slot) { return entries_.get() + slot * entry_bytes_; }
  std::byte* argument_at(std::size_t slot) { return tensors_at(slot) + sizeof(AttentionTensors); }
  std::size_t place_for(std::uint64_t hash) const;

  std::size_t entry_bytes_;
  std::array<Slot, kSlots> slots_{};
  // Left as it is until a slot is filled, so that memory is taken for those alone that are.
  std::unique_ptr<std::byte[]> entries_;
};

}  // namespace cubinet
