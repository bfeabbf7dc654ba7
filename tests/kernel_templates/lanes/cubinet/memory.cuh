// SPDX-License-Identifier: Apache-2.0
#pragma once
// In place of the device library's header: addresses of global memory are those of the test's
// memory. The shared memories of all CTAs that run together are one array.
#include "qualifiers.hpp"
#include "warp.hpp"

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
inline void store_global_float(GlobalAddress address, float number) {
  *reinterpret_cast<float*>(address) = number;
}
struct float2 {
  float x;
  float y;
};
struct uint2 {
  unsigned x;
  unsigned y;
};
struct uint4 {
  unsigned x;
  unsigned y;
  unsigned z;
  unsigned w;
};
inline float2 make_float2(float x, float y) {
  return {x, y};
}
inline uint2 make_uint2(unsigned x, unsigned y) {
  return {x, y};
}
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return {x, y, z, w};
}
inline uint4 load_global_16(GlobalAddress address) {
  uint4 words;
  std::memcpy(&words, reinterpret_cast<const void*>(address), sizeof(words));
  return words;
}
inline uint4 load_global_16_or_zero(GlobalAddress address, bool valid) {
  return valid ? load_global_16(address) : uint4{0, 0, 0, 0};
}
inline uint2 load_global_8(GlobalAddress address) {
  uint2 words;
  std::memcpy(&words, reinterpret_cast<const void*>(address), sizeof(words));
  return words;
}
inline void store_global_16(GlobalAddress address, const uint4& words) {
  std::memcpy(reinterpret_cast<void*>(address), &words, sizeof(words));
}
inline void store_global_8(GlobalAddress address, const uint2& words) {
  std::memcpy(reinterpret_cast<void*>(address), &words, sizeof(words));
}
inline void store_global_4(GlobalAddress address, unsigned word) {
  std::memcpy(reinterpret_cast<void*>(address), &word, sizeof(word));
}
inline void store_global_2(GlobalAddress address, unsigned word) {
  const auto half = static_cast<std::uint16_t>(word);
  std::memcpy(reinterpret_cast<void*>(address), &half, sizeof(half));
}
inline void prefetch_to_l2(GlobalAddress) {}
// Reads the bytes, so that a wrong address is an error.
inline void prefetch_bytes_to_l2(GlobalAddress address, unsigned bytes) {
  for (unsigned i = 0; i < bytes; i += 16)
    load_global_16(address + i);
}
inline void store_global_int(GlobalAddress address, int number) {
  *reinterpret_cast<std::int32_t*>(address) = number;
}
inline int add_global(GlobalAddress address, int number) {
  auto& sum = *reinterpret_cast<std::int32_t*>(address);
  sum += number;
  return sum - number;
}
inline int add_global_relaxed(GlobalAddress address, int number) {
  return add_global(address, number);
}
// NOLINTEND(performance-no-int-to-ptr)

using SharedAddress = unsigned;
inline constexpr unsigned kMostSharedBytes = 232448;  // of a CTA
inline std::array<std::byte, kMostBlocks * kMostSharedBytes> shared_memory;

// Returns the first address of the CTA's shared memory.
inline SharedAddress shared_address(const void*) {
  return Warp::slot() * kMostSharedBytes;
}

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
inline unsigned load_shared_4(SharedAddress address) {
  return load_shared<unsigned>(address);
}
inline float load_shared_float(SharedAddress address) {
  return load_shared<float>(address);
}
inline float2 load_shared_floats(SharedAddress address) {
  return load_shared<float2>(address);
}
inline uint4 load_shared_16(SharedAddress address) {
  return load_shared<uint4>(address);
}
inline void store_shared_4(SharedAddress address, unsigned word) {
  store_shared(address, word);
}
inline void store_shared_8(SharedAddress address, unsigned first, unsigned second) {
  store_shared(address, std::array{first, second});
}
inline void store_shared_float(SharedAddress address, float number) {
  store_shared(address, number);
}
inline void store_shared_floats(SharedAddress address, float x, float y) {
  store_shared(address, std::array{x, y});
}
inline void store_shared_floats_4(SharedAddress address, float x, float y, float z, float w) {
  store_shared(address, std::array{x, y, z, w});
}
inline void store_shared_16(SharedAddress address, const unsigned (&words)[4]) {
  store_shared(address, words);
}

// Returns an address of data that is swizzled by 128 bytes, as TMA and wgmma do: three bits of the
// address of a 16-byte chunk are XORed with the three bits above its 128 bytes.
inline SharedAddress swizzled_address(SharedAddress address) {
  return address ^ (address >> 7 & 7) << 4;
}

}  // namespace cubinet
