// SPDX-License-Identifier: Apache-2.0
#include "loader/driver_under_test.hpp"
#include "support/allocation_count.hpp"

#include <cuda.h>
#include <doctest/doctest.h>

using namespace cubinet;
using cubinet::test::allocations;
using cubinet::test::DriverUnderTest;
using cubinet::test::needs_stub;

TEST_CASE("A launch that succeeds allocates nothing") {
  const DriverUnderTest test;
  if (needs_stub(test)) return;
  const Function add = test.function("vector_add");
  const Function ranks = *test.load(cubinet::test::cluster_cubin(test.target()))->function();
  const auto current = test.device->make_current();
  REQUIRE(current);
  float* const pointer = nullptr;
  unsigned* const words = nullptr;
  const LaunchConfig plain{.dynamic_shared_bytes = 100 * 1024};
  const LaunchConfig clustered{.grid = {16, 1, 1}, .cluster = {16, 1, 1}, .cooperative = true};
  REQUIRE(add.launch(plain, pointer, pointer, pointer, 0U));
  REQUIRE(ranks.launch(clustered, words, words));
  // The stub keeps a list of launches, which allocates. Here it succeeds without doing anything.
  test.stub->fail("cuLaunchKernelEx", 1, CUDA_SUCCESS);
  const unsigned before = allocations();
  const bool added = add.launch(plain, pointer, pointer, pointer, 0U).has_value();
  const unsigned after_plain = allocations();
  test.stub->fail("cuLaunchKernelEx", 1, CUDA_SUCCESS);
  const unsigned before_clustered = allocations();
  const bool ranked = ranks.launch(clustered, words, words).has_value();
  const unsigned after_clustered = allocations();
  CHECK(added);
  CHECK(ranked);
  CHECK(after_plain == before);
  CHECK(after_clustered == before_clustered);
  CHECK(test.stub->launch_count() == 2);
  CHECK(before > 0);
}
