// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "slot_mutex.hpp"

#include <cubinet/loader/function.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace cubinet {

// The functions of one kernel on one device, in the order of the record's entry points.
using LoadedFunctions = std::vector<Function>;

// A kernel's part of the process cache on one device. It has cache lines of its own, so that
// threads on different devices write no common line. A hit reads two adjacent lines.
struct alignas(128) DeviceSlot {
  mutable SlotMutex mutex;
  mutable std::atomic<std::uint64_t> last_use{0};  // the time of the last hit (ModuleCache::now)
  // Guarded by `mutex`. The first function has a copy here, because a hit mostly wants it.
  Function first;
  LoadedFunctions functions;  // empty: not loaded

  // Stores the time of a hit. Writes only if loads or trims lie between this hit and the last.
  void note_use(std::uint64_t now) const {
    if (last_use.load(std::memory_order_relaxed) != now) last_use.store(now, std::memory_order_relaxed);
  }
};

// The slots of one kernel by device ordinal. Slots are added and never removed. Finding one takes
// no lock. Thread-safe.
class DeviceSlots {
 public:
  // `first` becomes the slot of device 0. It must live as long as this object.
  explicit DeviceSlots(DeviceSlot& first) : first_(first) {}

  // Returns nullptr if nothing was ever loaded on the device.
  DeviceSlot* find(int device) const {
    const auto index = static_cast<std::size_t>(device);
    if (index < kInline) return inline_[index].load(std::memory_order_acquire);
    const Table* table = table_.load(std::memory_order_acquire);
    return table == nullptr || device < 0 || index >= table->size() ? nullptr : (*table)[index];
  }
  // REQUIRES: `device` is the ordinal of an existing device.
  DeviceSlot& find_or_add(int device);
  // Returns a number above all ordinals with a slot.
  std::size_t size() const { return size_.load(std::memory_order_acquire); }

 private:
  using Table = std::vector<DeviceSlot*>;
  // As many pointers as fit into the first cache line of a CachedKernel, which a hit reads anyway.
  static constexpr std::size_t kInline = 4;

  std::array<std::atomic<DeviceSlot*>, kInline> inline_{};
  std::atomic<const Table*> table_{nullptr};  // by ordinal, of the devices beyond `inline_`
  std::atomic<std::size_t> size_{0};
  std::mutex mutex_;                                  // of writers
  std::vector<std::unique_ptr<DeviceSlot>> slots_;    // of other devices
  std::vector<std::unique_ptr<const Table>> tables_;  // readers may hold an older one
  DeviceSlot& first_;
};

}  // namespace cubinet
