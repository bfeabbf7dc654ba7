// SPDX-License-Identifier: Apache-2.0
#include "support/allocation_count.hpp"

#include <cstdlib>
#include <new>

namespace {
thread_local unsigned allocation_count = 0;
thread_local std::uint64_t byte_count = 0;
thread_local unsigned failing_allocation = 0;  // 0: none
}  // namespace

unsigned cubinet::test::allocations() {
  return allocation_count;
}

std::uint64_t cubinet::test::allocated_bytes() {
  return byte_count;
}

void cubinet::test::fail_allocation(unsigned number) {
  failing_allocation = number == 0 ? 0 : allocation_count + number;
}

// Clang's ThreadSanitizer has operators of its own that nothing may replace. No test of threads counts.
#ifndef __SANITIZE_THREAD__
namespace {
bool takes_memory(std::size_t size) {
  byte_count += size;
  return ++allocation_count != failing_allocation;
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
