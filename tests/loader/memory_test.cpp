// SPDX-License-Identifier: Apache-2.0
#include "loader/driver_under_test.hpp"

#include <cubinet/loader/memory.hpp>

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

using namespace cubinet;
using cubinet::test::DriverUnderTest;

TEST_CASE("Bytes that are written to a device come back") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const auto buffer = DeviceBuffer::allocate(test.device, 1000);
  REQUIRE(buffer);
  CHECK(buffer->size() == 1000);
  CHECK(buffer->address() != 0);
  REQUIRE(buffer->fill(std::byte{0x11}));
  const Bytes part(100, std::byte{0x22});
  REQUIRE(buffer->copy_from(part, 450));
  Bytes all(1000);
  REQUIRE(buffer->copy_to(all));
  Bytes expected(1000, std::byte{0x11});
  std::copy(part.begin(), part.end(), expected.begin() + 450);
  CHECK(all == expected);
  Bytes middle(10);
  REQUIRE(buffer->copy_to(middle, 545));
  CHECK(middle == Bytes(expected.begin() + 545, expected.begin() + 555));
}

TEST_CASE("Elements of any trivially copyable type are copied to a new buffer and back") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const std::vector<std::int32_t> values = {1, -2, 3, 1 << 30};
  const auto buffer = DeviceBuffer::copy_of(test.device, values);
  REQUIRE(buffer);
  CHECK(buffer->size() == 16);
  std::vector<std::int32_t> back(4);
  REQUIRE(buffer->copy_to(back));
  CHECK(back == values);

  const std::array<std::int32_t, 2> changed = {7, 8};
  REQUIRE(buffer->copy_from(changed, 8));
  REQUIRE(buffer->copy_to(std::span(back).last(3), 4));
  CHECK(back == std::vector<std::int32_t>{1, -2, 7, 8});
  CHECK(buffer->copy_from(changed, 12).error().message ==
        "8 bytes at offset 12 are not inside a buffer of 16");
}

TEST_CASE("A copy of nothing is an empty buffer and a copy without a device is refused") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const auto buffer = DeviceBuffer::copy_of(test.device, std::vector<float>());
  REQUIRE(buffer);
  CHECK(buffer->size() == 0);
  CHECK(DeviceBuffer::copy_of(nullptr, std::vector{1.0F}).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("A zeroed buffer holds zeros where other bytes were") {
  const DriverUnderTest test;
  if (!test.ready) return;
  {
    const auto used = DeviceBuffer::copy_of(test.device, Bytes(1000, std::byte{0x33}));
    REQUIRE(used);
  }
  const auto buffer = DeviceBuffer::zeroed(test.device, 1000);
  REQUIRE(buffer);
  Bytes back(1000, std::byte{0x44});
  REQUIRE(buffer->copy_to(back));
  CHECK(back == Bytes(1000));
}

// Elements that are not trivially copyable, and containers that are not contiguous, do not compile.
static_assert(CopyableRange<std::span<const double>> && CopyableRange<const std::vector<int>&>);
static_assert(!CopyableRange<std::vector<std::string>> && !CopyableRange<std::vector<bool>>);

TEST_CASE("Copies beyond a buffer are refused with the numbers") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const auto buffer = DeviceBuffer::allocate(test.device, 16);
  REQUIRE(buffer);
  Bytes bytes(8);
  CHECK(buffer->copy_from(bytes, 8));
  CHECK(buffer->copy_from(bytes, 9).error().code == ErrorCode::invalid_argument);
  CHECK(buffer->copy_to(bytes, SIZE_MAX).error().code == ErrorCode::invalid_argument);
  CHECK(buffer->copy_to(bytes, 17).error().message == "8 bytes at offset 17 are not inside a buffer of 16");
}

TEST_CASE("An empty buffer holds nothing and needs nothing") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const auto buffer = DeviceBuffer::allocate(test.device, 0);
  REQUIRE(buffer);
  CHECK(buffer->address() == 0);
  CHECK(buffer->fill(std::byte{1}));
  CHECK(buffer->copy_from(Bytes()));
}

TEST_CASE("Memory that the device does not have is an error that names the size") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const auto buffer = DeviceBuffer::allocate(test.device, std::size_t{1} << 50U);
  REQUIRE(!buffer);
  CHECK(buffer.error().code == ErrorCode::driver);
  CHECK(buffer.error().message.find("CUDA_ERROR_OUT_OF_MEMORY") != std::string::npos);
  CHECK(buffer.error().message.find(std::to_string(std::size_t{1} << 50U)) != std::string::npos);
  CHECK(DeviceBuffer::allocate(nullptr, 1).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("The driver knows on which device an address lies, and host memory that it never saw is refused") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const auto buffer = *DeviceBuffer::allocate(test.device, 64);
  CHECK(*device_of_address(*test.device, buffer.address()) == test.device->ordinal());
  CHECK(*device_of_address(*test.device, buffer.address() + 63) == test.device->ordinal());
  const int nowhere = 0;
  const auto refused = device_of_address(*test.device, reinterpret_cast<std::uintptr_t>(&nowhere));
  REQUIRE(!refused);
  CHECK(refused.error().code == ErrorCode::invalid_argument);
}

TEST_CASE("Borrowed memory is written to and not freed") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const auto own = DeviceBuffer::allocate(test.device, 64);
  REQUIRE(own);
  {
    const DeviceBuffer part = DeviceBuffer::borrow(test.device, own->address() + 16, 16);
    CHECK(part.copy_from(Bytes(17)).error().code == ErrorCode::invalid_argument);
    REQUIRE(part.fill(std::byte{7}));
  }
  Bytes back(64);
  REQUIRE(own->copy_to(back));
  CHECK(back[16] == std::byte{7});
  CHECK(back[31] == std::byte{7});
}

TEST_CASE("A moved buffer is freed once") {
  const DriverUnderTest test;
  if (!test.ready) return;
  {
    auto first = *DeviceBuffer::allocate(test.device, 64);
    auto second = *DeviceBuffer::allocate(test.device, 32);
    const std::uint64_t address = first.address();
    second = std::move(first);
    CHECK(second.address() == address);
    CHECK(second.size() == 64);
    const DeviceBuffer third = std::move(second);
    CHECK(third.address() == address);
  }
  if (test.stub != nullptr) CHECK(test.stub->live("memory") == 0);
}
