// SPDX-License-Identifier: Apache-2.0
#include "store/same_build.hpp"

#include "cubin_registry/home_fixture.hpp"

namespace cubinet::test {
namespace {

TEST_CASE("records are of one build by identity, kind and fingerprint, whatever made them") {
  const CubinRecord record = *cubin_of(1).record;
  CHECK(is_same_build(record, *shipped(2, 7).record));
  CHECK_FALSE(is_same_build(record, *cubin_of(2).record));
  CHECK_FALSE(is_same_build(record, *cubin_of(1, "other").record));
  CubinRecord ptx = record;
  ptx.kind = ImageKind::ptx;
  CHECK_FALSE(is_same_build(record, ptx));
}

TEST_CASE("a local build and a newer bundle take the place of a bundle, and nothing that of a local build") {
  const CubinRecord local = *cubin_of(1).record;
  const CubinRecord older = *shipped(1, 1).record;
  const CubinRecord newer = *shipped(1, 2).record;
  CHECK(supersedes(local, newer));
  CHECK(supersedes(newer, older));
  CHECK_FALSE(supersedes(older, newer));
  CHECK_FALSE(supersedes(older, older));
  CHECK_FALSE(supersedes(newer, local));
  CHECK_FALSE(supersedes(local, local));
}

}  // namespace
}  // namespace cubinet::test
