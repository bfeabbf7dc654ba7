// SPDX-License-Identifier: Apache-2.0
// Tests the driver's data about a module's variables. Also runs on a real driver, which then stores
// the bytes.
#include "loader/driver_under_test.hpp"
#include "support/text.hpp"

#include <cubinet/loader/global.hpp>
#include <cubinet/loader/stream.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <span>

using namespace cubinet;
using cubinet::test::contains;
using cubinet::test::DriverUnderTest;
using cubinet::test::globals_cubin;

namespace {

Global global_of(const std::shared_ptr<const Module>& module, std::string_view name) {
  auto global = module->global(name);
  REQUIRE_MESSAGE(global.has_value(), global.error().to_line());
  return *std::move(global);
}

template <class T>
std::vector<T> read(const Global& global, const Stream& stream) {
  std::vector<T> values(global.size() / sizeof(T));
  const auto read = global.copy_to(values, stream.handle());
  REQUIRE_MESSAGE(read.has_value(), read.error().to_line());
  REQUIRE(stream.synchronize());
  return values;
}

}  // namespace

TEST_CASE("A variable has the address and size of its declaration") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const auto module = test.load(globals_cubin(test.target()));
  CHECK(global_of(module, "scale").size() == 16);
  CHECK(global_of(module, "ns::table<float>").size() == 32);
  CHECK(global_of(module, "ns::counter").size() == 4);
  CHECK(global_of(module, "shared_by_all").size() == 8);
  for (const auto& [name, symbol] : module->record().globals) {
    CHECK(global_of(module, name).symbol() == symbol);
    CHECK(global_of(module, name).address() != 0);
  }
}

TEST_CASE("A variable that nobody declared is found by its symbol") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const auto module = test.load(globals_cubin(test.target()));
  CHECK(global_of(module, "undeclared").size() == 4);
  const auto function = module->function("apply");
  REQUIRE(function);
  CHECK(function->global("undeclared")->address() == global_of(module, "undeclared").address());
}

TEST_CASE("A variable begins with what its source says and keeps what is written") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const auto module = test.load(globals_cubin(test.target()));
  const auto stream = Stream::create(test.device);
  REQUIRE(stream);
  const Global scale = global_of(module, "scale");
  CHECK(read<float>(scale, *stream) == std::vector<float>{1, 2, 3, 4});
  CHECK(read<int>(global_of(module, "ns::counter"), *stream) == std::vector<int>{7});
  CHECK(read<float>(global_of(module, "ns::table<float>"), *stream) == std::vector<float>(8));
  const std::array<float, 2> changed = {-1.5F, 0.25F};
  REQUIRE(scale.copy_from(changed, stream->handle(), 4));
  CHECK(read<float>(scale, *stream) == std::vector<float>{1, -1.5F, 0.25F, 4});
  CHECK(scale.copy_from({}, stream->handle(), scale.size()));
}

TEST_CASE("A copy beyond a variable is refused with the numbers") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const auto module = test.load(globals_cubin(test.target()));
  const Global scale = global_of(module, "scale");
  std::array<std::byte, 32> bytes{};
  for (const auto& [size, offset] : {std::pair{17UL, 0UL}, {1UL, 16UL}, {4UL, 13UL}, {8UL, SIZE_MAX - 3}}) {
    const auto written = scale.copy_from(ByteView(bytes).first(size), nullptr, offset);
    const auto got = scale.copy_to(std::span(bytes).first(size), nullptr, offset);
    REQUIRE(!written);
    REQUIRE(!got);
    CHECK(written.error().code == ErrorCode::invalid_argument);
    CHECK(contains(written.error().message, "writing " + std::to_string(size) + " bytes at offset"));
    CHECK(contains(written.error().message, "'scale'"));
    CHECK(contains(written.error().message, "16 bytes"));
    CHECK(contains(got.error().message, "reading"));
    CHECK(contains(got.error().message, test.device->properties().name));
  }
}

TEST_CASE("A variable that is not there is not found and the error lists the declared") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const auto missing = test.load(globals_cubin(test.target()))->global("ns::missing");
  REQUIRE(!missing);
  CHECK(missing.error().code == ErrorCode::not_found);
  CHECK(contains(missing.error().message, "ns::missing"));
  CHECK(contains(missing.error().remedy, "ns::counter, ns::table<float>, scale"));
  CHECK(Function().global("scale").error().code == ErrorCode::invalid_argument);
}

TEST_CASE("A variable keeps its module loaded and modules have variables of their own") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const auto stream = Stream::create(test.device);
  REQUIRE(stream);
  const Global kept = global_of(test.load(globals_cubin(test.target())), "ns::counter");
  const Global other = global_of(test.load(globals_cubin(test.target())), "ns::counter");
  CHECK(kept.address() != other.address());
  const int value = 11;
  REQUIRE(kept.copy_from(std::span(&value, 1), stream->handle()));
  CHECK(read<int>(kept, *stream) == std::vector<int>{11});
  CHECK(read<int>(other, *stream) == std::vector<int>{7});
}
