// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

namespace cubinet {

// Calls `work` once for each index below `count`, from `threads` threads (0: one a core), in no order.
// Returns when all are done. `work` must not throw.
void parallel_for(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work);

}  // namespace cubinet
