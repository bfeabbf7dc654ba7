// SPDX-License-Identifier: Apache-2.0
#include "curl_api.hpp"

#include <doctest/doctest.h>

using namespace cubinet;

TEST_CASE("without libcurl there is a remedy") {
  const auto api = CurlApi::open("/nowhere/libcurl.so.4");
  REQUIRE_FALSE(api);
  CHECK(api.error().code == ErrorCode::unavailable);
  CHECK(api.error().message.find("/nowhere/libcurl.so.4") != std::string::npos);
  CHECK(api.error().remedy.find("install libcurl") != std::string::npos);
}

TEST_CASE("a library without the functions is no libcurl") {
  const auto api = CurlApi::open("libm.so.6");
  REQUIRE_FALSE(api);
  CHECK(api.error().code == ErrorCode::unavailable);
  CHECK(api.error().message.find("curl_global_init") != std::string::npos);
}

TEST_CASE("libcurl is opened as often as it is wanted") {
  REQUIRE(CurlApi::open("libcurl.so.4"));
  REQUIRE(CurlApi::open("libcurl.so.4"));
}
