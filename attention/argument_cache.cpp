// SPDX-License-Identifier: Apache-2.0
#include "argument_cache.hpp"

#include <cstring>
#include <type_traits>

namespace cubinet {
namespace {

static_assert(std::has_unique_object_representations_v<AttentionTensors>, "they are compared byte by byte");

// Returns a hash of the tensors, never 0. Layers differ in their pools, steps of a batch in their
// queries.
std::uint64_t hash_of(const AttentionTensors& tensors) {
  std::uint64_t mixed = 0;
  for (const DeviceTensor* tensor : {&tensors.q, &tensors.k, &tensors.v, &tensors.o, &tensors.page_table,
                                     &tensors.kv_lengths, &tensors.scratch}) {
    mixed = (mixed ^ tensor->address) * 0x9e3779b97f4a7c15U;
    mixed ^= mixed >> 32U;
  }
  return mixed | (std::uint64_t{1} << 63U);
}

// Holds a slot during its lifetime, unless another thread holds it.
class Taken {
 public:
  explicit Taken(std::atomic_flag& flag)
      : flag_(flag.test_and_set(std::memory_order_acquire) ? nullptr : &flag) {}
  ~Taken() {
    if (flag_ != nullptr) flag_->clear(std::memory_order_release);
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  explicit operator bool() const { return flag_ != nullptr; }

 private:
  std::atomic_flag* flag_;
};

}  // namespace

ArgumentCache::ArgumentCache(std::size_t argument_bytes)
    : entry_bytes_(sizeof(AttentionTensors) + argument_bytes),
      entries_(std::make_unique_for_overwrite<std::byte[]>(kSlots * entry_bytes_)) {}

bool ArgumentCache::find(const AttentionTensors& tensors, std::span<std::byte> argument) {
  const std::uint64_t hash = hash_of(tensors);
  for (std::size_t place = 0; place < kPlaces; ++place) {
    const std::size_t at = slot_of(hash, place);
    Slot& slot = slots_[at];
    if (slot.hash.load(std::memory_order_relaxed) != hash) continue;
    const Taken taken(slot.taken);
    // Another thread may have replaced the content in between.
    if (!taken || slot.hash.load(std::memory_order_relaxed) != hash) continue;
    if (std::memcmp(tensors_at(at), &tensors, sizeof(tensors)) != 0) continue;
    std::memcpy(argument.data(), argument_at(at), argument.size());
    return true;
  }
  return false;
}

// Returns an empty slot or, if all are filled, one that the hash selects.
std::size_t ArgumentCache::place_for(std::uint64_t hash) const {
  for (std::size_t place = 0; place < kPlaces; ++place) {
    if (slots_[slot_of(hash, place)].hash.load(std::memory_order_relaxed) == 0) return place;
  }
  return (hash >> 32U) % kPlaces;
}

void ArgumentCache::keep(const AttentionTensors& tensors, std::span<const std::byte> argument) {
  const std::uint64_t hash = hash_of(tensors);
  const std::size_t at = slot_of(hash, place_for(hash));
  Slot& slot = slots_[at];
  const Taken taken(slot.taken);
  if (!taken) return;
  std::memcpy(tensors_at(at), &tensors, sizeof(tensors));
  std::memcpy(argument_at(at), argument.data(), argument.size());
  slot.hash.store(hash, std::memory_order_relaxed);
}

}  // namespace cubinet
