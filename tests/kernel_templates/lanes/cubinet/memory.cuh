// SPDX-License-Identifier: Apache-2.0
#pragma once
// In place of the device library's header: addresses are those of the test's memory.
#include <cstdint>

namespace cubinet {

using GlobalAddress = unsigned long long;

// NOLINTBEGIN(performance-no-int-to-ptr): kernels have addresses as integers
inline int load_global_constant_int(GlobalAddress address) {
  return *reinterpret_cast<const std::int32_t*>(address);
}
inline float load_global_float(GlobalAddress address) {
  return *reinterpret_cast<const float*>(address);
}
inline void prefetch_to_l2(GlobalAddress) {}
inline void store_global_int(GlobalAddress address, int number) {
  *reinterpret_cast<std::int32_t*>(address) = number;
}
inline int add_global(GlobalAddress address, int number) {
  auto& sum = *reinterpret_cast<std::int32_t*>(address);
  sum += number;
  return sum - number;
}
// NOLINTEND(performance-no-int-to-ptr)

}  // namespace cubinet
