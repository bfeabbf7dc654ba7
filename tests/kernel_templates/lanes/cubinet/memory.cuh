// SPDX-License-Identifier: Apache-2.0
#pragma once
// In place of the device library's header: addresses of global memory are those of the test's
// memory. Shared memory is an array.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cubinet {

using GlobalAddress = unsigned long long;

// NOLINTBEGIN(performance-no-int-to-ptr): kernels have addresses as integers
inline int load_global_constant_int(GlobalAddress address) {
  return *reinterpret_cast<const std::int32_t*>(address);
}
inline float load_global_float(GlobalAddress address) {
  return *reinterpret_cast<const float*>(address);
}
inline float load_global_float_if(bool valid, GlobalAddress address, float otherwise) {
  return valid ? load_global_float(address) : otherwise;
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

using SharedAddress = unsigned;
inline std::array<std::byte, 232448> shared_memory;

template <class T>
T load_shared(SharedAddress address) {
  T value;
  std::memcpy(&value, &shared_memory.at(address), sizeof(T));
  return value;
}
template <class T>
void store_shared(SharedAddress address, const T& value) {
  std::memcpy(&shared_memory.at(address), &value, sizeof(T));
}
template <class T>
void load_shared_object(SharedAddress address, T& object) {
  object = load_shared<T>(address);
}
template <class T>
void store_shared_object(SharedAddress address, const T& object) {
  store_shared(address, object);
}
inline void store_shared_16(SharedAddress address, const unsigned (&words)[4]) {
  store_shared(address, words);
}

}  // namespace cubinet
