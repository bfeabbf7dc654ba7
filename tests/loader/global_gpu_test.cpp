// SPDX-License-Identifier: Apache-2.0
// Tests that kernels see variables written by the host, and that the host sees variables written by
// kernels. Needs a GPU.
#include "loader/driver_under_test.hpp"

#include <cubinet/loader/global.hpp>
#include <cubinet/loader/memory.hpp>
#include <cubinet/loader/stream.hpp>

#include <doctest/doctest.h>

#include <array>
#include <span>

using namespace cubinet;
using cubinet::test::DriverUnderTest;
using cubinet::test::globals_cubin;

TEST_CASE("Kernels and host see the same variables in the order of the stream") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const auto current = test.device->make_current();
  REQUIRE(current);
  const auto function = test.load(globals_cubin(test.target()))->function("apply");
  REQUIRE(function);
  const auto stream = Stream::create(test.device);
  REQUIRE(stream);
  const auto out = DeviceBuffer::allocate(test.device, 32 * sizeof(float));
  REQUIRE(out);

  const std::array<float, 4> scale = {10, 20, 30, 40};
  std::array<float, 8> table{};
  for (std::size_t i = 0; i < table.size(); ++i)
    table[i] = 0.5F * static_cast<float>(i);
  const std::array<int, 2> managed = {100, 200};
  REQUIRE(function->global("scale")->copy_from(scale, stream->handle()));
  REQUIRE(function->global("ns::table<float>")->copy_from(table, stream->handle()));
  REQUIRE(function->global("shared_by_all")->copy_from(managed, stream->handle()));
  LaunchConfig config;
  config.block = {32, 1, 1};
  config.stream = stream->handle();
  const auto launched = function->launch(config, out->as<float>());
  REQUIRE_MESSAGE(launched.has_value(), launched.error().to_line());
  int counter = 0;
  std::array<int, 2> managed_after{};
  REQUIRE(function->global("ns::counter")->copy_to(std::span(&counter, 1), stream->handle()));
  REQUIRE(function->global("shared_by_all")->copy_to(managed_after, stream->handle()));
  REQUIRE(stream->synchronize());

  CHECK(counter == 7 + 32);
  CHECK(managed_after == std::array<int, 2>{132, 200});
  std::array<float, 32> results{};
  REQUIRE(out->copy_to(results));
  for (std::size_t i = 0; i < results.size(); ++i)
    CHECK(results[i] == scale[i % 4] + table[i % 8] + 200.0F + 5.0F);
}
