// SPDX-License-Identifier: Apache-2.0
#include "environment.hpp"

#include "runtime_fixture.hpp"

#include <cubinet/jit/compiler.hpp>

#include <fstream>

namespace cubinet {
namespace {

using namespace test;

TEST_CASE("the compiler is opened once and the outcome kept") {
  Environment environment(compiler_search(), {}, {});
  const auto first = environment.compiler();
  const auto second = environment.compiler();
  REQUIRE(first);
  REQUIRE(second);
  CHECK(*first == *second);
}

TEST_CASE("a missing compiler is said again without being searched for again") {
  const TempDir folder;
  CompilerSearch search;
  search.library = folder / "libnvrtc.so.13";
  Environment environment(search, {}, {});
  CHECK(environment.compiler().error().code == ErrorCode::unavailable);
  std::ofstream(folder / "libnvrtc.so.13") << "appears too late for this Runtime";
  CHECK(environment.compiler().error().code == ErrorCode::unavailable);
}

TEST_CASE("a missing driver is an error for every device, each time") {
  Environment environment(compiler_search(), "libcuda-that-is-not-there.so.1", {});
  for (int ordinal = 0; ordinal < 2; ++ordinal) {
    const auto device = environment.device(ordinal);
    REQUIRE_FALSE(device);
    CHECK(device.error().code == ErrorCode::unavailable);
  }
}

}  // namespace
}  // namespace cubinet
