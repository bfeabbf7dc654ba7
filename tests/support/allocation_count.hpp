// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cubinet::test {

// How often this thread has taken memory from the heap. Only for an executable that links
// cubinet_test_allocation_count, which replaces operator new for all of it.
unsigned allocations();
// Returns how many bytes this thread has taken from the heap, those that it gave back included.
std::uint64_t allocated_bytes();
// Fails this thread's allocation of this number from now on: once, or with all that follow (`for_good`). 0:
// none fails.
void fail_allocation(unsigned number, bool for_good = false);

}  // namespace cubinet::test
