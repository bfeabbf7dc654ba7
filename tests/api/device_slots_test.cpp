// SPDX-License-Identifier: Apache-2.0
#include "device_slots.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace cubinet {
namespace {

TEST_CASE("a slot is found at the same address while others are added") {
  DeviceSlot of_device_0;
  DeviceSlots slots(of_device_0);
  CHECK(slots.find(0) == nullptr);
  CHECK(slots.find(-1) == nullptr);
  DeviceSlot& third = slots.find_or_add(3);
  CHECK(slots.size() == 4);
  CHECK(slots.find(0) == nullptr);
  CHECK(slots.find(4) == nullptr);
  for (const int device : {0, 7, 1}) {
    const DeviceSlot* const added = &slots.find_or_add(device);
    CHECK(slots.find(device) == added);
  }
  CHECK(slots.find(3) == &third);
  CHECK(&slots.find_or_add(3) == &third);
}

TEST_CASE("slots of two devices share no cache line") {
  DeviceSlot of_device_0;
  DeviceSlots slots(of_device_0);
  const auto first = reinterpret_cast<std::uintptr_t>(&slots.find_or_add(0));
  const auto second = reinterpret_cast<std::uintptr_t>(&slots.find_or_add(1));
  CHECK(first % 128 == 0);
  CHECK(second % 128 == 0);
  CHECK(first != second);
}

TEST_CASE("a use is written only at a new time") {
  DeviceSlot slot;
  slot.note_use(5);
  CHECK(slot.last_use == 5);
  slot.note_use(5);
  slot.note_use(6);
  CHECK(slot.last_use == 6);
}

TEST_CASE("threads that add and find slots agree on them") {
  DeviceSlot of_device_0;
  DeviceSlots slots(of_device_0);
  std::atomic<unsigned> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&slots, &wrong, thread] {
      for (int i = 0; i < 64; ++i) {
        const int device = (i * 7 + thread * 5) % 64;
        DeviceSlot* slot = &slots.find_or_add(device);
        if (slots.find(device) != slot) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(wrong == 0);
  CHECK(slots.size() == 64);
}

}  // namespace
}  // namespace cubinet
