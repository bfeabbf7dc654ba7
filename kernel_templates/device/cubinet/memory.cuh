// SPDX-License-Identifier: Apache-2.0
#pragma once
// Accesses to global and shared memory by address. The parameter structs hold device addresses as
// 64-bit integers. The functions name the state space, so the compiler emits no generic loads and
// stores. An address must be a multiple of the size of the access.

namespace cubinet {

using GlobalAddress = unsigned long long;
using SharedAddress = unsigned;

// Returns the shared memory address of an object in shared memory.
__device__ inline SharedAddress shared_address(const void* pointer) {
  return static_cast<SharedAddress>(__cvta_generic_to_shared(pointer));
}

__device__ inline uint4 load_global_16(GlobalAddress address) {
  uint4 v;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(address));
  return v;
}

// Loads 16 bytes if `valid` is true. Otherwise returns zeros and reads nothing.
__device__ inline uint4 load_global_16_or_zero(GlobalAddress address, bool valid) {
  uint4 v;
  asm volatile(
      "{.reg .pred valid; setp.ne.s32 valid, %5, 0; mov.b32 %0, 0; mov.b32 %1, 0; mov.b32 %2, 0; "
      "mov.b32 %3, 0; @valid ld.global.v4.u32 {%0, %1, %2, %3}, [%4];}"
      : "=&r"(v.x), "=&r"(v.y), "=&r"(v.z), "=&r"(v.w)
      : "l"(address), "r"(static_cast<int>(valid)));
  return v;
}

__device__ inline uint2 load_global_8(GlobalAddress address) {
  uint2 v;
  asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(address));
  return v;
}

// Loads a number that no concurrent kernel writes, through the read-only cache.
__device__ inline int load_global_constant_int(GlobalAddress address) {
  int v;
  asm volatile("ld.global.nc.s32 %0, [%1];" : "=r"(v) : "l"(address));
  return v;
}

__device__ inline float load_global_float(GlobalAddress address) {
  float v;
  asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(address));
  return v;
}

// Loads a float if `valid` is true. Otherwise returns `otherwise` and reads nothing.
__device__ inline float load_global_float_if(bool valid, GlobalAddress address, float otherwise) {
  float v = otherwise;
  asm volatile("{.reg .pred valid; setp.ne.s32 valid, %2, 0; @valid ld.global.f32 %0, [%1];}"
               : "+f"(v)
               : "l"(address), "r"(static_cast<int>(valid)));
  return v;
}

// Prefetches the cache line of an address to the L2 cache.
__device__ inline void prefetch_to_l2(GlobalAddress address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

// Prefetches bytes to the L2 cache with one instruction (sm_90 and later). The address and the
// number of bytes must be multiples of 16.
__device__ inline void prefetch_bytes_to_l2(GlobalAddress address, unsigned bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(address), "r"(bytes));
}

__device__ inline void store_global_16(GlobalAddress address, const uint4& v) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(v.x), "r"(v.y), "r"(v.z),
               "r"(v.w)
               : "memory");
}

__device__ inline void store_global_8(GlobalAddress address, const uint2& v) {
  asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(address), "r"(v.x), "r"(v.y) : "memory");
}

__device__ inline void store_global_4(GlobalAddress address, unsigned v) {
  asm volatile("st.global.u32 [%0], %1;" ::"l"(address), "r"(v) : "memory");
}

// Stores the low half of `v`.
__device__ inline void store_global_2(GlobalAddress address, unsigned v) {
  asm volatile("{.reg .b16 lo, hi; mov.b32 {lo, hi}, %1; st.global.b16 [%0], lo;}" ::"l"(address), "r"(v)
               : "memory");
}

__device__ inline uint4 load_shared_16(SharedAddress address) {
  uint4 v;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(address)
               : "memory");
  return v;
}

__device__ inline float load_shared_float(SharedAddress address) {
  float v;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(address) : "memory");
  return v;
}

__device__ inline float2 load_shared_floats(SharedAddress address) {
  float2 v;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(address) : "memory");
  return v;
}

__device__ inline void store_shared_floats(SharedAddress address, float first, float second) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(first), "f"(second) : "memory");
}

__device__ inline void store_shared_8(SharedAddress address, unsigned first, unsigned second) {
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(address), "r"(first), "r"(second) : "memory");
}

__device__ inline void store_shared_16(SharedAddress address, const unsigned (&words)[4]) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(words[0]), "r"(words[1]),
               "r"(words[2]), "r"(words[3])
               : "memory");
}

__device__ inline void store_shared_4(SharedAddress address, unsigned v) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(v) : "memory");
}

__device__ inline unsigned load_shared_4(SharedAddress address) {
  unsigned v;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(address) : "memory");
  return v;
}

__device__ inline void store_shared_float(SharedAddress address, float v) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(v) : "memory");
}

__device__ inline void store_shared_floats_4(SharedAddress address, float x, float y, float z, float w) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(x), "f"(y), "f"(z), "f"(w)
               : "memory");
}

// Store and load an object that consists of whole 32-bit words.
template <typename T>
__device__ inline void store_shared_object(SharedAddress address, const T& object) {
  unsigned words[sizeof(T) / 4];
  static_assert(sizeof(words) == sizeof(T));
  memcpy(words, &object, sizeof(T));
#pragma unroll
  for (int i = 0; i < int{sizeof(T) / 4}; ++i)
    store_shared_4(address + 4 * i, words[i]);
}
template <typename T>
__device__ inline void load_shared_object(SharedAddress address, T& object) {
  unsigned words[sizeof(T) / 4];
  static_assert(sizeof(words) == sizeof(T));
#pragma unroll
  for (int i = 0; i < int{sizeof(T) / 4}; ++i)
    words[i] = load_shared_4(address + 4 * i);
  memcpy(&object, words, sizeof(T));
}

__device__ inline void store_global_float(GlobalAddress address, float v) {
  asm volatile("st.global.f32 [%0], %1;" ::"l"(address), "f"(v) : "memory");
}

// Adds `v` and returns the value before the addition (acquire and release, GPU scope). The writes
// that a CTA made before its last barrier are visible to each CTA whose addition comes later, after
// that CTA's next barrier.
__device__ inline int add_global(GlobalAddress address, int v) {
  int before;
  asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(address), "r"(v)
               : "memory");
  return before;
}

// Adds `v` and returns the value before the addition, without ordering other accesses.
__device__ inline int add_global_relaxed(GlobalAddress address, int v) {
  int before;
  asm volatile("atom.relaxed.gpu.global.add.s32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(address), "r"(v)
               : "memory");
  return before;
}

__device__ inline void store_global_int(GlobalAddress address, int v) {
  asm volatile("st.global.s32 [%0], %1;" ::"l"(address), "r"(v) : "memory");
}

}  // namespace cubinet
