// SPDX-License-Identifier: Apache-2.0
#pragma once
// In place of the device library's header: the element types that a test of a schedule names.

namespace cubinet {

struct bf16 {
  unsigned short bits;
};

struct e4m3 {
  unsigned char bits;
};

template <typename A, typename B>
inline constexpr bool is_same = false;
template <typename A>
inline constexpr bool is_same<A, A> = true;

}  // namespace cubinet
