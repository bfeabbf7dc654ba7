// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cubinet::test {

// Returns the number of heap allocations of this thread. Only for an executable that links
// cubinet_test_allocation_count, which replaces operator new for the whole executable.
unsigned allocations();
// Returns the number of bytes that this thread has allocated from the heap, including the freed
// ones.
std::uint64_t allocated_bytes();
// Makes this thread's allocation of this number, counted from now, fail once or, if `for_good`,
// with all later ones. 0 disables it.
void fail_allocation(unsigned number, bool for_good = false);

}  // namespace cubinet::test
