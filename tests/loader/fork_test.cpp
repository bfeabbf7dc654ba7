// SPDX-License-Identifier: Apache-2.0
#include "loader/driver_under_test.hpp"

#include <cubinet/loader/memory.hpp>
#include <cubinet/loader/module_cache.hpp>
#include <cubinet/loader/stream.hpp>

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

using namespace cubinet;
using cubinet::test::DriverUnderTest;

namespace {

bool refused(const Result<void>& result) {
  return !result && result.error().code == ErrorCode::unsupported;
}
template <class T>
bool refused(const Result<T>& result) {
  return !result && result.error().code == ErrorCode::unsupported;
}

// Returns the number of the first failed check, or 0 if all succeeded.
int use_everything_in_child(DriverUnderTest& test, const Function& add, ModuleCache& cache,
                            const Cubin& cubin) {
  const unsigned calls = test.stub == nullptr ? 0 : test.stub->calls(nullptr);
  float* const pointer = nullptr;
  if (test.driver->in_opening_process()) return 1;
  if (!refused(add.launch({}, pointer, pointer, pointer, 0U))) return 2;
  if (!refused(test.device->make_current())) return 3;
  if (!refused(Device::open(test.driver, 0))) return 4;
  if (!refused(Module::load(test.device, cubin))) return 5;
  if (!refused(cache.get_or_load(test.device, cubin))) return 6;
  if (!refused(DeviceBuffer::allocate(test.device, 16))) return 7;
  if (!refused(Stream::create(test.device))) return 8;
  if (test.stub != nullptr && test.stub->calls(nullptr) != calls) return 9;
  return 0;
}

}  // namespace

TEST_CASE("A forked child gets errors and calls nothing") {
  DriverUnderTest test;
  if (!test.ready) return;
  const Cubin cubin = test.cubin();
  ModuleCache cache;
  auto module = cache.get_or_load(test.device, cubin);
  REQUIRE(module);
  auto add = (*module)->function("vector_add");
  REQUIRE(add);
  auto buffer = DeviceBuffer::allocate(test.device, 16);
  REQUIRE(buffer);
  auto stream = Stream::create(test.device);
  REQUIRE(stream);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int status = use_everything_in_child(test, *add, cache, cubin);
    const unsigned calls = test.stub == nullptr ? 0 : test.stub->calls(nullptr);
    // Everything that the parent made is also destroyed here, without a log message.
    const Error gone{ErrorCode::internal, "gone"};
    add = gone;
    module = gone;
    buffer = gone;
    stream = gone;
    test.device = nullptr;
    if (status == 0 && test.stub != nullptr && test.stub->calls(nullptr) != calls) status = 10;
    if (status == 0 && !test.log->empty()) status = 11;
    ::_exit(status);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  const auto current = test.device->make_current();
  REQUIRE(current);
  float* const pointer = nullptr;
  CHECK(add->launch({}, pointer, pointer, pointer, 0U));
}
