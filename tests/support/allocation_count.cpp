// SPDX-License-Identifier: Apache-2.0
#include "support/allocation_count.hpp"

#include <cstdlib>
#include <new>

namespace {
thread_local unsigned allocation_count = 0;
thread_local std::uint64_t byte_count = 0;
thread_local unsigned failing_allocation = 0;  // 0: none
thread_local bool fails_for_good = false;
}  // namespace

unsigned cubinet::test::allocations() {
  return allocation_count;
}

std::uint64_t cubinet::test::allocated_bytes() {
  return byte_count;
}

void cubinet::test::fail_allocation(unsigned number, bool for_good) {
  failing_allocation = number == 0 ? 0 : allocation_count + number;
  fails_for_good = for_good;
}

// Clang's ThreadSanitizer has its own operators, which must not be replaced. No test of threads
// counts allocations.
#ifndef __SANITIZE_THREAD__
namespace {
bool takes_memory(std::size_t size) {
  byte_count += size;
  ++allocation_count;
  if (failing_allocation == 0) return true;
  return fails_for_good ? allocation_count < failing_allocation : allocation_count != failing_allocation;
}
}  // namespace

void* operator new(std::size_t size) {
  if (!takes_memory(size)) throw std::bad_alloc();
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return takes_memory(size) ? std::malloc(size == 0 ? 1 : size) : nullptr;
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
#endif
