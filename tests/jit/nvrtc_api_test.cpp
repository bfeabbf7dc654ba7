// SPDX-License-Identifier: Apache-2.0
#include "nvrtc_api.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

using namespace cubinet;

TEST_CASE("a library that is not there is unavailable, with a remedy") {
  const auto api = NvrtcApi::open("/nowhere/libnvrtc.so.13");
  REQUIRE_FALSE(api);
  CHECK(api.error().code == ErrorCode::unavailable);
  CHECK(api.error().message.find("/nowhere/libnvrtc.so.13") != std::string::npos);
  CHECK_FALSE(api.error().remedy.empty());
}

TEST_CASE("NVRTC is not loaded while the environment would change its code") {
  REQUIRE(::setenv("NV_NVVM_VERSION", "nvvm-latest", 1) == 0);
  const auto api = NvrtcApi::open(CUBINET_TEST_OLD_NVRTC);
  ::unsetenv("NV_NVVM_VERSION");
  REQUIRE_FALSE(api);
  CHECK(api.error().code == ErrorCode::unavailable);
  CHECK(api.error().remedy == "unset NV_NVVM_VERSION");
  CHECK(NvrtcApi::open(CUBINET_TEST_OLD_NVRTC).error().code == ErrorCode::unsupported);
}

TEST_CASE("a library without the functions is no NVRTC") {
  const auto api = NvrtcApi::open("libm.so.6");
  REQUIRE_FALSE(api);
  CHECK(api.error().code == ErrorCode::unavailable);
  CHECK(api.error().message.find("nvrtcVersion (CUDA 7.0)") != std::string::npos);
}

TEST_CASE("a release before CUDA 12 is told as too old") {
  const auto api = NvrtcApi::open(CUBINET_TEST_OLD_NVRTC);
  REQUIRE_FALSE(api);
  CHECK(api.error().code == ErrorCode::unsupported);
  CHECK(api.error().message.find("NVRTC 11.8") != std::string::npos);
  CHECK(api.error().remedy.find("12.0") != std::string::npos);
}

TEST_CASE("a release that lacks one function names it") {
  const auto api = NvrtcApi::open(CUBINET_TEST_BROKEN_NVRTC);
  REQUIRE_FALSE(api);
  CHECK(api.error().code == ErrorCode::unavailable);
  CHECK(api.error().message.find("nvrtcGetErrorString") != std::string::npos);
}

TEST_CASE("builtins that cannot be opened are told before the library is") {
  const auto api = NvrtcApi::open("/nowhere/libnvrtc.so.13", "/nowhere/libnvrtc-builtins.so.13.0");
  REQUIRE(!api);
  CHECK(api.error().code == ErrorCode::unavailable);
  CHECK(api.error().message.find("libnvrtc-builtins.so.13.0") != std::string::npos);
}

TEST_CASE("builtins that the process has already are taken where they are of the same build") {
  const auto twin = DynamicLibrary::open(CUBINET_TEST_BUILTINS_TWIN);
  REQUIRE(twin);
  const auto api = NvrtcApi::open(CUBINET_TEST_BROKEN_NVRTC, CUBINET_TEST_BUILTINS);
  REQUIRE_FALSE(api);
  CHECK(api.error().message.find("it is no NVRTC") != std::string::npos);
}

TEST_CASE("builtins of another build that the process has already are told, with both paths") {
  const auto first = DynamicLibrary::open(CUBINET_TEST_BUILTINS);
  REQUIRE(first);
  const auto api = NvrtcApi::open(CUBINET_TEST_BROKEN_NVRTC, CUBINET_TEST_BUILTINS_OTHER);
  REQUIRE_FALSE(api);
  CHECK(api.error().code == ErrorCode::unavailable);
  const auto used = DynamicLibrary::find_loaded("libnvrtc-builtins.so.13.99");
  REQUIRE(used);
  CHECK_MESSAGE(api.error().message.find(used->path().string()) != std::string::npos, api.error().message);
  CHECK(api.error().message.find(CUBINET_TEST_BUILTINS_OTHER) != std::string::npos);
}
