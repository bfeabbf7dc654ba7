// SPDX-License-Identifier: Apache-2.0
#include "local/retention.hpp"

#include "cubin_registry/home_fixture.hpp"

namespace cubinet::test {
namespace {

struct Kept : HomeFixture {
  FileStore store{posix_file_system(), HomeLayout(open()->description().place), log.sink()};
};

TEST_CASE("a pin stays until it is taken away, and pinning twice is pinning") {
  Kept kept;
  CHECK(read_pins(kept.store)->empty());
  for (int i = 0; i < 2; ++i)
    REQUIRE(write_pin(kept.store, KernelKey{0x12}));
  REQUIRE(write_pin(kept.store, KernelKey{0x3}));
  write_file(kept.home / "pins/README", Bytes(3));
  CHECK(*read_pins(kept.store) == std::set<KernelKey>{KernelKey{0x3}, KernelKey{0x12}});
  CHECK(*remove_pin(kept.store, KernelKey{0x12}));
  CHECK_FALSE(*remove_pin(kept.store, KernelKey{0x12}));
  CHECK(*read_pins(kept.store) == std::set<KernelKey>{KernelKey{0x3}});
}

TEST_CASE("a limit reads as it was written, and what says none is an error") {
  Kept kept;
  CHECK_FALSE(*read_limit(kept.store));
  REQUIRE(write_limit(kept.store, SizeLimit{1000, 800}));
  CHECK(as_text(read_file(kept.home / "limit")) == "high 1000 low 800\n");
  CHECK((*read_limit(kept.store))->high == 1000);
  CHECK((*read_limit(kept.store))->low == 800);
  for (const char* text : {"", "high 1000", "high 1000 low 800", "high 0100 low 1\n", "high 1 low 2\n",
                           "high -1 low 0\n", "high 99999999999999999999 low 0\n", "high 1 low 1\n\n"}) {
    CAPTURE(text);
    write_file(kept.home / "limit", as_bytes(text));
    CHECK(read_limit(kept.store).error().code == ErrorCode::corruption);
  }
  REQUIRE(write_limit(kept.store, std::nullopt));
  CHECK_FALSE(*read_limit(kept.store));
  CHECK(check_limit({1, 2}).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("a home is counted at the first publish, and again after a part of the room was published") {
  LimitWatch watch;
  CHECK(watch.is_due(1));
  watch.counted(600, {1000, 800});
  CHECK_FALSE(watch.is_due(50));
  CHECK_FALSE(watch.is_due(50));
  CHECK(watch.is_due(1));
  watch.counted(1100, {1000, 800});  // nothing could go: not at once again
  CHECK_FALSE(watch.is_due(1000));
  LimitWatch other;
  other.counted(std::nullopt, {1000, 800});
  CHECK_FALSE(other.is_due(1000));
}

}  // namespace
}  // namespace cubinet::test
