// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/loader/function.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace cubinet {

// The functions of one kernel on one device, in the order of the record's entry points.
using LoadedFunctions = std::vector<Function>;

// A kernel's part of the process cache on one device. It has cache lines of its own, so that
// threads on different devices write no common line.
struct alignas(128) DeviceSlot {
  mutable std::shared_mutex mutex;
  LoadedFunctions functions;                       // guarded by `mutex`; empty: not loaded
  mutable std::atomic<std::uint64_t> last_use{0};  // the time of the last hit (ModuleCache::now)

  // Stores the time of a hit. Writes only if loads or trims lie between this hit and the last.
  void note_use(std::uint64_t now) const {
    if (last_use.load(std::memory_order_relaxed) != now) last_use.store(now, std::memory_order_relaxed);
  }
};

// The slots of one kernel by device ordinal. Slots are added and never removed. Finding one takes
// no lock. Thread-safe.
class DeviceSlots {
 public:
  // Returns nullptr if nothing was ever loaded on the device.
  DeviceSlot* find(int device) const {
    const Table* table = table_.load(std::memory_order_acquire);
    const auto index = static_cast<std::size_t>(device);
    return table == nullptr || device < 0 || index >= table->size() ? nullptr : (*table)[index];
  }
  // REQUIRES: `device` is the ordinal of an existing device.
  DeviceSlot& find_or_add(int device);
  std::size_t size() const {
    const Table* table = table_.load(std::memory_order_acquire);
    return table == nullptr ? 0 : table->size();
  }

 private:
  using Table = std::vector<DeviceSlot*>;

  std::atomic<const Table*> table_{nullptr};
  std::mutex mutex_;  // of writers
  std::vector<std::unique_ptr<DeviceSlot>> slots_;
  std::vector<std::unique_ptr<const Table>> tables_;  // readers may hold an older one
};

}  // namespace cubinet
