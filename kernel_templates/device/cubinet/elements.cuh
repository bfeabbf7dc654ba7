// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stores adjacent elements of a row of a tensor.
#include <cubinet/memory.cuh>
#include <cubinet/types.cuh>

namespace cubinet {

// Stores `kCount` values, converted to `Element`, with stores of up to 16 bytes (4 elements of
// fp32, 4 or 8 of 16 bits, 4, 8 or 16 of e4m3). `address` must be aligned to the store.
template <typename Element, int kCount>
__device__ inline void store_elements(GlobalAddress address, const float (&values)[kCount]) {
  if constexpr (is_same<Element, e4m3>) {
    if constexpr (kCount == 4) {
      store_global_4(address, pack4_e4m3(values));
    } else if constexpr (kCount == 8) {
      store_global_8(address, make_uint2(pack4_e4m3(values), pack4_e4m3(values + 4)));
    } else {
      static_assert(kCount == 16);
      store_global_16(address, make_uint4(pack4_e4m3(values), pack4_e4m3(values + 4), pack4_e4m3(values + 8),
                                          pack4_e4m3(values + 12)));
    }
  } else if constexpr (sizeof(Element) == 2 && kCount == 4) {
    store_global_8(address,
                   make_uint2(pack2<Element>(values[0], values[1]), pack2<Element>(values[2], values[3])));
  } else {
#pragma unroll
    for (int i = 0; i < kCount; i += Vector16<Element>::kElements)
      store_global_16(address + i * sizeof(Element), Vector16<Element>::pack(values + i));
  }
}

}  // namespace cubinet
