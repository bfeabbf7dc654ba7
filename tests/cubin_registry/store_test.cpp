// SPDX-License-Identifier: Apache-2.0
#include <cubinet/cubin_registry/store.hpp>

#include <doctest/doctest.h>

namespace cubinet::test {
namespace {

TEST_CASE("kinds of stores and of findings have names of their own") {
  CHECK(to_string(StoreKind::memory) == "memory");
  CHECK(to_string(StoreKind::home) == "home");
  CHECK(to_string(StoreKind::bundle) == "bundle");
  CHECK(to_string(StoreKind::imported) == "imported");
  CHECK(to_string(StoreKind::server) == "server");
  CHECK(to_string(StoreFinding::Kind::stray_file) == "stray_file");
  CHECK(to_string(StoreFinding::Kind::conflicting_build) == "conflicting_build");
}

}  // namespace
}  // namespace cubinet::test
