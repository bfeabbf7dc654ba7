// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cubinet {

// The bytes of a transfer that have arrived, and the total. A plain value.
struct TransferProgress {
  std::uint64_t bytes = 0;
  std::uint64_t total = 0;
};

}  // namespace cubinet
