// SPDX-License-Identifier: Apache-2.0
#include "device_slots.hpp"

#include <algorithm>

namespace cubinet {

DeviceSlot& DeviceSlots::find_or_add(int device) {
  if (DeviceSlot* known = find(device)) return *known;
  const std::lock_guard lock(mutex_);
  if (DeviceSlot* known = find(device)) return *known;
  const auto index = static_cast<std::size_t>(device);
  const Table* current = table_.load(std::memory_order_relaxed);
  auto table = std::make_unique<Table>(current == nullptr ? Table() : *current);
  table->resize(std::max(table->size(), index + 1));
  auto slot = std::make_unique<DeviceSlot>();
  DeviceSlot& added = *slot;
  (*table)[index] = &added;
  slots_.push_back(std::move(slot));
  tables_.push_back(std::move(table));
  table_.store(tables_.back().get(), std::memory_order_release);
  return added;
}

}  // namespace cubinet
