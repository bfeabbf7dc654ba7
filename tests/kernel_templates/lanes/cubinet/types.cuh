// SPDX-License-Identifier: Apache-2.0
#pragma once
// In place of the device library's header: the element types that a test of a schedule names.

namespace cubinet {

struct bf16 {
  unsigned short bits;
};

}  // namespace cubinet
