// SPDX-License-Identifier: Apache-2.0
#include "bound_fixture.hpp"

#include <cubinet/attention/measure.hpp>
#include <cubinet/loader/stream.hpp>

namespace cubinet {
namespace {

using namespace test;

TEST_CASE("both pieces of memory are read in whole vectors of 16 bytes") {
  const BoundSetting setting;
  if (setting.stub.missing()) return;
  const MemoryReader reader = ok(MemoryReader::create(*setting.runtime, 0));
  const Stream stream = ok(Stream::create(setting.device));
  const AttentionTensors tensors = setting.buffers.tensors();
  ok(reader.run({tensors.k.address, 4096, {}}, {tensors.v.address, 100, {}}, stream.handle()));
  cubinet_stub_launch_record launch;
  REQUIRE(setting.stub.launch(0, &launch) != 0);
  CHECK(std::string(launch.kernel) == "read_memory");
  CHECK(launch.grid[0] == 2 * setting.device->properties().multiprocessors);
  std::uint64_t arguments[4] = {};
  REQUIRE(launch.argument_bytes == sizeof(arguments));
  std::memcpy(arguments, launch.arguments, sizeof(arguments));
  CHECK(arguments[0] == tensors.k.address);
  CHECK(arguments[1] == 4096 / 16);
  CHECK(arguments[2] == tensors.v.address);
  CHECK(arguments[3] == 100 / 16);
}

}  // namespace
}  // namespace cubinet
