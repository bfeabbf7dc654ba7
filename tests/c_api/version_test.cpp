// SPDX-License-Identifier: Apache-2.0
#include "c_fixture.hpp"

using namespace cubinet::test;

TEST_CASE("the library has the version of the header") {
  CHECK(cubinet_abi_version() == CUBINET_ABI_VERSION);
}

TEST_CASE("a program of another major version is refused, and of another minor version served") {
  cubinet_config* config = nullptr;
  Failure failure;
  CHECK(cubinet_config_create(CUBINET_ABI_VERSION + 0x10000, &config, failure.out()) == CUBINET_UNSUPPORTED);
  CHECK(config == nullptr);
  CHECK(failure.message().find("version 2 of cubinet.h") != std::string::npos);
  CHECK(cubinet_config_create(0, &config, failure.out()) == CUBINET_UNSUPPORTED);
  REQUIRE(cubinet_config_create(CUBINET_ABI_VERSION + 1, &config, failure.out()) == CUBINET_OK);
  cubinet_config_release(config);
}
