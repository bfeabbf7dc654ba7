// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/dynamic_library.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

TEST_CASE("a library is opened by soname and tells where it lies") {
  const auto library = DynamicLibrary::open("libm.so.6");
  REQUIRE(library);
  CHECK(library->find("cos") != nullptr);
  CHECK(library->find("cubinet_no_such_symbol") == nullptr);
  CHECK(library->path().is_absolute());
}

TEST_CASE("a library that is not there is unavailable, with the reason of the system") {
  const auto library = DynamicLibrary::open("libcubinet-not-there.so.9");
  REQUIRE_FALSE(library);
  CHECK(library.error().code == ErrorCode::unavailable);
  CHECK(library.error().message.find("libcubinet-not-there.so.9") != std::string::npos);
  CHECK_FALSE(library.error().detail.empty());
}

TEST_CASE("a moved library keeps its symbols") {
  auto library = DynamicLibrary::open("libm.so.6");
  REQUIRE(library);
  const DynamicLibrary moved = *std::move(library);
  CHECK(moved.find("sin") != nullptr);
}

}  // namespace
}  // namespace cubinet
