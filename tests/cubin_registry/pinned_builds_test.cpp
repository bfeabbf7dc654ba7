// SPDX-License-Identifier: Apache-2.0
#include "local/pinned_builds.hpp"

#include "cubin_registry/home_fixture.hpp"
#include "support/ok.hpp"

#include <cubinet/cubin_registry/downloads.hpp>

namespace cubinet::test {
namespace {

const std::string kPinnedPlace = "https://host/kernels#stable";

PinnedBuilds three_builds() {
  PinnedBuilds pinned{kPinnedPlace, sha256(as_bytes("manifest")), {}};
  for (const std::string_view name : {"a", "b", "c"})
    pinned.builds.push_back(sha256(as_bytes(name)));
  std::sort(pinned.builds.begin(), pinned.builds.end());
  return pinned;
}

std::shared_ptr<const CubinRecord> bundled(int number) {
  auto record = std::make_shared<CubinRecord>(*cubin_of(number).record);
  record->origin = CubinOrigin::bundle;
  record->version = 1;
  return record;
}

void pin(Home& home, const std::optional<Sha256Digest>& manifest) {
  ok(home.downloads().change(kPinnedPlace, [&](KnownChannel& known) { known.pinned = manifest; }));
}

TEST_CASE("pinned builds are read as they were written, and no byte of them can be another") {
  const Bytes bytes = encode_pinned_builds(three_builds());
  const PinnedBuilds read = ok(decode_pinned_builds(bytes));
  CHECK(read.place == kPinnedPlace);
  CHECK(read.manifest == three_builds().manifest);
  CHECK(read.builds == three_builds().builds);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    Bytes damaged = bytes;
    damaged[i] ^= std::byte{1};
    CHECK_FALSE(decode_pinned_builds(damaged).has_value());
    CHECK_FALSE(decode_pinned_builds(ByteView(bytes).first(i)).has_value());
  }
  PinnedBuilds unordered = three_builds();
  std::swap(unordered.builds[0], unordered.builds[1]);
  CHECK(decode_pinned_builds(encode_pinned_builds(unordered)).error().code == ErrorCode::corruption);
  unordered.builds = {unordered.builds[0], unordered.builds[0]};
  CHECK(decode_pinned_builds(encode_pinned_builds(unordered)).error().code == ErrorCode::corruption);
}

TEST_CASE("a home prefers the builds of the pinned manifest for as long as the pin lasts") {
  HomeFixture fixture;
  const auto home = fixture.open();
  const Sha256Digest manifest = sha256(as_bytes("manifest"));
  const auto prefers = [&](Home& asked, int number) {
    ok(asked.find(bundled(number)->identity.kernel()));
    return asked.prefers(*bundled(number));
  };
  ok(home->downloads().prefer(kPinnedPlace, manifest, {bundled(1)}));
  CHECK_FALSE(prefers(*home, 1));  // not pinned
  pin(*home, manifest);
  ok(home->downloads().prefer(kPinnedPlace, manifest, {bundled(1)}));
  ok(home->downloads().prefer(kPinnedPlace, manifest, {bundled(2), bundled(1)}));
  for (const auto& each : {home, fixture.open(HomeOptions::Access::read_only)}) {
    CHECK(prefers(*each, 1));
    CHECK(prefers(*each, 2));
    CHECK_FALSE(prefers(*each, 3));
  }
  CHECK_FALSE(home->prefers(*cubin_of(1).record));  // a local build needs no preference
  const Sha256Digest other = sha256(as_bytes("other"));
  ok(home->downloads().prefer(kPinnedPlace, other, {bundled(3)}));
  CHECK_FALSE(prefers(*home, 3));
  pin(*home, other);
  ok(home->downloads().prefer(kPinnedPlace, other, {bundled(3)}));
  CHECK(prefers(*home, 3));
  CHECK_FALSE(prefers(*home, 1));
  pin(*home, std::nullopt);
  CHECK_FALSE(prefers(*home, 3));
  CHECK_FALSE(
      std::filesystem::exists(HomeLayout(fixture.home).pinned_builds(sha256(as_bytes(kPinnedPlace)))));
}

TEST_CASE("rows are another object after a pin, since another build may be chosen") {
  HomeFixture fixture;
  const auto home = fixture.open();
  const auto before = ok(home->rows());
  CHECK(ok(home->rows()) == before);
  const Sha256Digest manifest = sha256(as_bytes("manifest"));
  pin(*home, manifest);
  ok(home->downloads().prefer(kPinnedPlace, manifest, {bundled(1)}));
  CHECK(ok(home->rows()) != before);
}

TEST_CASE("a damaged list of pinned builds has no effect, and the log says so") {
  HomeFixture fixture;
  const auto home = fixture.open();
  const Sha256Digest manifest = sha256(as_bytes("manifest"));
  pin(*home, manifest);
  ok(home->downloads().prefer(kPinnedPlace, manifest, {bundled(1)}));
  write_file(HomeLayout(fixture.home).pinned_builds(sha256(as_bytes(kPinnedPlace))), Bytes(7));
  const auto opened = fixture.open();
  ok(opened->find(bundled(1)->identity.kernel()));
  CHECK_FALSE(opened->prefers(*bundled(1)));
  CHECK(fixture.log.count("has no effect") >= 1);
  ok(opened->downloads().prefer(kPinnedPlace, manifest, {bundled(1)}));
  ok(opened->find(bundled(1)->identity.kernel()));
  CHECK(opened->prefers(*bundled(1)));
}

}  // namespace
}  // namespace cubinet::test
