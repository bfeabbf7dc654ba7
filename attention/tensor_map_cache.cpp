// SPDX-License-Identifier: Apache-2.0
#include "tensor_map_cache.hpp"

#include <cstring>

namespace cubinet {
namespace {

// Layers' pools differ in their addresses, the maps of one run in all the rest.
std::size_t slot_of(const TensorMapDescription& map, std::size_t slots) {
  std::uint64_t mixed = map.address >> 4U;
  for (const std::uint64_t part : {map.sizes[0] ^ (map.sizes[1] << 20U), std::uint64_t{map.box[1]}}) {
    mixed = (mixed ^ part) * 0x9e3779b97f4a7c15U;
    mixed ^= mixed >> 32U;
  }
  return mixed % slots;
}

}  // namespace

Result<void> TensorMapCache::write(const Device& device, const TensorMapDescription& map, std::byte* target) {
  Slot& slot = slots_[slot_of(map, slots_.size())];
  if (slot.taken.test_and_set(std::memory_order_acquire)) {
    CUBINET_TRY_ASSIGN(const TensorMap encoded, encode_tensor_map(device, map));
    std::memcpy(target, &encoded, sizeof(encoded));
    return {};
  }
  Result<void> outcome;
  if (!slot.filled || slot.description != map) {
    auto encoded = encode_tensor_map(device, map);
    slot.filled = encoded.has_value();
    if (encoded) {
      slot.description = map;
      slot.encoded = *encoded;
    } else {
      outcome = encoded.error();
    }
  }
  if (slot.filled) std::memcpy(target, &slot.encoded, sizeof(slot.encoded));
  slot.taken.clear(std::memory_order_release);
  return outcome;
}

}  // namespace cubinet
