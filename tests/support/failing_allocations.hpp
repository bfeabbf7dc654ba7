// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/allocation_count.hpp"
#include "support/counted.hpp"
#include "support/sampled.hpp"

#include <doctest/doctest.h>

#include <new>

namespace cubinet::test {

// Runs `operation` with its first allocation failing, then with its second, and so on, until none
// fails: first with one failure, then with all later ones failing too. It may return or throw
// std::bad_alloc, and nothing else. `prepare` makes the argument of `operation` without faults.
// Returns the number of failed allocations. The short form fails one of `stride`.
template <class Prepare, class Operation>
std::size_t fail_each_allocation(std::size_t stride, Prepare&& prepare, Operation&& operation) {
  std::size_t failed = 0;
  for (const bool for_good : {false, true}) {
    const Sampling sampling = one_of_each(stride);
    bool reached = true;
    for (auto number = static_cast<unsigned>(sampling.start) + 1; reached;
         number += static_cast<unsigned>(sampling.stride)) {
      CAPTURE(number);
      CAPTURE(for_good);
      auto subject = prepare();
      const unsigned before = allocations();
      fail_allocation(number, for_good);
      try {
        operation(subject);
      } catch (const std::bad_alloc&) {
      }
      fail_allocation(0);
      reached = allocations() - before >= number;
      failed += reached ? 1U : 0U;
    }
  }
  counted(failed, "faults");
  return failed;
}

}  // namespace cubinet::test
