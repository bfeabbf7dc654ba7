// SPDX-License-Identifier: Apache-2.0
#include "device_slots.hpp"

#include <algorithm>

namespace cubinet {

DeviceSlot& DeviceSlots::find_or_add(int device) {
  if (DeviceSlot* known = find(device)) return *known;
  const std::lock_guard lock(mutex_);
  if (DeviceSlot* known = find(device)) return *known;
  const auto index = static_cast<std::size_t>(device);
  DeviceSlot& added = index == 0 ? first_ : *slots_.emplace_back(std::make_unique<DeviceSlot>());
  if (index < kInline) {
    inline_[index].store(&added, std::memory_order_release);
  } else {
    const Table* current = table_.load(std::memory_order_relaxed);
    auto table = std::make_unique<Table>(current == nullptr ? Table() : *current);
    table->resize(std::max(table->size(), index + 1));
    (*table)[index] = &added;
    tables_.push_back(std::move(table));
    table_.store(tables_.back().get(), std::memory_order_release);
  }
  size_.store(std::max(size_.load(std::memory_order_relaxed), index + 1), std::memory_order_release);
  return added;
}

}  // namespace cubinet
