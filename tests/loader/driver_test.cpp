// SPDX-License-Identifier: Apache-2.0
#include "loader/driver_under_test.hpp"

#include <cubinet/loader/driver.hpp>

#include <cuda.h>
#include <doctest/doctest.h>

using namespace cubinet;
using cubinet::test::DriverUnderTest;

TEST_CASE("The driver opens and describes itself and its devices") {
  const DriverUnderTest test;
  if (!test.ready) return;
  CHECK(test.driver->version() >= 11040);
  CHECK(test.driver->library_path().find("libcuda.so") != std::string::npos);
  CHECK(test.driver->in_opening_process());
  CHECK(test.driver->check_process().has_value());
  REQUIRE(!test.driver->devices().empty());
  int ordinal = 0;
  for (const DeviceProperties& properties : test.driver->devices()) {
    CHECK(properties.ordinal == ordinal++);
    CHECK(!properties.name.empty());
    CHECK(properties.capability.major >= 7);
    CHECK(properties.multiprocessors > 0);
    CHECK(properties.maximum_shared_bytes_per_block >= 48 * 1024);
    CHECK(properties.memory_bytes > std::uint64_t{1} << 30);
    CHECK(properties.uuid.size() == 40);
    CHECK(properties.uuid.substr(0, 4) == "GPU-");
    CHECK(properties.cluster_launch == (properties.capability.major >= 9));
    CHECK(properties.to_string() ==
          "device " + std::to_string(properties.ordinal) + " (" + properties.name + ")");
  }
}

TEST_CASE("The limit of shared memory is the one that the table of capabilities states") {
  const DriverUnderTest test;
  if (!test.ready) return;
  for (const DeviceProperties& properties : test.driver->devices()) {
    CHECK(properties.maximum_shared_bytes_per_block == maximum_shared_bytes_per_block(properties.capability));
  }
}

TEST_CASE("A driver library that is not there gives unavailable and a remedy") {
  const auto driver = Driver::open("/nonexistent/libcuda.so.1");
  REQUIRE(!driver);
  CHECK(driver.error().code == ErrorCode::unavailable);
  CHECK(driver.error().message.find("/nonexistent/libcuda.so.1") != std::string::npos);
  CHECK(driver.error().remedy.find("install the NVIDIA driver") != std::string::npos);
  CHECK(!driver.error().detail.empty());
}

TEST_CASE("A library that is no CUDA driver gives unavailable") {
  const auto driver = Driver::open("libc.so.6");
  REQUIRE(!driver);
  CHECK(driver.error().code == ErrorCode::unavailable);
  CHECK(driver.error().message.find("is not a CUDA driver") != std::string::npos);
}

TEST_CASE("An error of the driver carries its name, number and text") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const Error error = test.driver->error(CUDA_ERROR_INVALID_VALUE, "cuLaunchKernelEx", "launching something");
  CHECK(error.code == ErrorCode::driver);
  CHECK(error.native == 1);
  CHECK(error.message ==
        "launching something: cuLaunchKernelEx gives CUDA_ERROR_INVALID_VALUE (1), invalid argument");
  CHECK(error.remedy.empty());
  const Error unknown = test.driver->error(123456, "cuInit", "trying");
  CHECK(unknown.message.find("(123456)") != std::string::npos);
}

TEST_CASE("What the driver says of an image is told apart from its own troubles") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const auto code = [&](int result) {
    return test.driver->error(result, "cuLibraryLoadData", "loading").code;
  };
  for (const int result : {CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_INVALID_PTX, CUDA_ERROR_INVALID_SOURCE})
    CHECK(code(result) == ErrorCode::corruption);
  for (const int result : {CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
                           CUDA_ERROR_JIT_COMPILER_NOT_FOUND, CUDA_ERROR_JIT_COMPILATION_DISABLED})
    CHECK(code(result) == ErrorCode::unsupported);
  for (const int result : {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_NOT_FOUND})
    CHECK(code(result) == ErrorCode::driver);
}

TEST_CASE("The fault of an earlier kernel is told apart from the failing call") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const Error error =
      test.driver->error(CUDA_ERROR_ILLEGAL_ADDRESS, "cuLaunchKernelEx", "launching something");
  CHECK(error.remedy.find("ran earlier") != std::string::npos);
  const Error context =
      test.driver->error(CUDA_ERROR_INVALID_CONTEXT, "cuLaunchKernelEx", "launching something");
  CHECK(context.remedy.find("primary context") != std::string::npos);
}

TEST_CASE("Only failures that matter are reported to the log") {
  const DriverUnderTest test;
  if (!test.ready) return;
  test.driver->report(CUDA_SUCCESS, "cuLibraryUnload", "unloading");
  test.driver->report(CUDA_ERROR_DEINITIALIZED, "cuLibraryUnload", "unloading");
  CHECK(test.log->empty());
  test.driver->report(CUDA_ERROR_INVALID_HANDLE, "cuLibraryUnload", "unloading");
  REQUIRE(test.log->size() == 1);
  CHECK(test.log->front().find("CUDA_ERROR_INVALID_HANDLE") != std::string::npos);
}
