// SPDX-License-Identifier: Apache-2.0
#include "loader/driver_under_test.hpp"

#include <cubinet/loader/tensor_map.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

TensorMapDescription paged_kv() {
  TensorMapDescription map;
  map.rank = 4;
  map.address = 0x7f0000000000;
  map.sizes = {128, 64, 8, 4096, 0};
  map.strides_bytes = {256, 16'384, 131'072, 0};
  map.box = {64, 64, 1, 1, 0};
  map.swizzle = TensorMapDescription::Swizzle::bytes128;
  return map;
}

template <class Change>
std::string refusal(Change change) {
  TensorMapDescription map = paged_kv();
  change(map);
  const auto checked = check_tensor_map(map);
  return checked ? "accepted" : checked.error().message;
}

TEST_CASE("a map that the driver takes is accepted, members beyond the rank are not looked at") {
  CHECK(check_tensor_map(paged_kv()));
  TensorMapDescription flat = paged_kv();
  flat.rank = 1;
  flat.sizes = {std::uint64_t{1} << 32U, 0, 0, 0, 0};
  flat.strides_bytes = {7, 7, 7, 7};
  CHECK(check_tensor_map(flat));
}

TEST_CASE("each rule of the driver refuses with the field and its value") {
  CHECK(refusal([](auto& m) { m.rank = 0; }) == "a tensor map's rank is 0: it must be from 1 to 5");
  CHECK(refusal([](auto& m) { m.rank = 6; }) != "accepted");
  CHECK(refusal([](auto& m) { m.address += 8; }).find("a multiple of 16") != std::string::npos);
  CHECK(refusal([](auto& m) { m.sizes[2] = 0; }).find("size of dimension 2 is 0") != std::string::npos);
  CHECK(refusal([](auto& m) { m.sizes[0] = (std::uint64_t{1} << 32U) + 1; }) != "accepted");
  CHECK(refusal([](auto& m) { m.strides_bytes[0] = 264; }).find("stride of dimension 1 is 264") !=
        std::string::npos);
  CHECK(refusal([](auto& m) { m.strides_bytes[2] = std::uint64_t{1} << 40U; }) != "accepted");
  CHECK(refusal([](auto& m) { m.strides_bytes[2] = (std::uint64_t{1} << 40U) - 16; }) == "accepted");
  CHECK(refusal([](auto& m) { m.box[1] = 257; }).find("box of dimension 1 is 257") != std::string::npos);
  CHECK(refusal([](auto& m) { m.box[1] = 0; }) != "accepted");
  CHECK(refusal([](auto& m) { m.box[0] = 65; }).find("box row is 130") != std::string::npos);
  CHECK(refusal([](auto& m) { m.box[0] = 72; }).find("at most the swizzle") != std::string::npos);
  CHECK(refusal([](auto& m) { m.swizzle = static_cast<TensorMapDescription::Swizzle>(4); }) != "accepted");
}

TEST_CASE("elements of four bits that are spread in the copy have rules of their own") {
  TensorMapDescription map;
  map.type = TensorMapDescription::Type::padded_4bit;
  map.rank = 2;
  map.address = 0x7f0000000000;
  map.sizes = {256, 64, 1, 1, 1};
  map.strides_bytes = {128, 0, 0, 0};
  map.box = {128, 64, 1, 1, 1};
  map.swizzle = TensorMapDescription::Swizzle::bytes128;
  CHECK(check_tensor_map(map));
  const auto refuses = [&](auto change) {
    TensorMapDescription changed = map;
    change(changed);
    return !check_tensor_map(changed);
  };
  CHECK(refuses([](auto& m) { m.address += 16; }));
  CHECK(refuses([](auto& m) { m.strides_bytes[0] = 144; }));
  CHECK(refuses([](auto& m) { m.sizes[0] = 192; }));
  CHECK(refuses([](auto& m) { m.box[0] = 64; }));
  CHECK(refuses([](auto& m) { m.rank = 1; }));
}

TEST_CASE("a box holds no more than the shared memory of a multiprocessor") {
  TensorMapDescription map;
  map.rank = 3;
  map.sizes = {64, 256, 256, 1, 1};
  map.strides_bytes = {128, 32768, 0, 0};
  map.box = {64, 256, 7, 1, 1};  // 128 bytes * 1792
  CHECK(check_tensor_map(map));
  map.box = {64, 228, 8, 1, 1};  // 233,472 bytes, the maximum
  CHECK(check_tensor_map(map));
  map.box = {64, 229, 8, 1, 1};
  CHECK(check_tensor_map(map).error().message.find("233472") != std::string::npos);
}

TEST_CASE("a map is encoded from what describes it, and one that breaks a rule never reaches the driver") {
  const test::DriverUnderTest test;
  if (!test.ready) return;
  TensorMapDescription map = paged_kv();
  const auto first = encode_tensor_map(*test.device, map);
  REQUIRE_MESSAGE(first, (first ? "" : first.error().to_line()));
  map.address += 256;
  const auto second = encode_tensor_map(*test.device, map);
  REQUIRE(second);
  CHECK(*first != *second);
  map.address += 8;
  const auto refused = encode_tensor_map(*test.device, map);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace cubinet
