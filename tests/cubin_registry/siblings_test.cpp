// SPDX-License-Identifier: Apache-2.0
#include "local/siblings.hpp"

#include "cubin_registry/home_fixture.hpp"

#include <algorithm>

namespace cubinet::test {
namespace {

struct SiblingFixture {
  HomeFixture home;
  std::shared_ptr<Home> registry = home.open();  // makes the folders
  FileStore store{posix_file_system(), HomeLayout(home.home), home.log.sink()};

  // A record and its image.
  StoredRecord write(const Cubin& cubin) {
    REQUIRE(store.write_image(cubin.record->digest, *cubin.image));
    return *store.write_record(cubin.record);
  }
  std::uint64_t version_in_force(const std::vector<StoredRecord>& stored) {
    const auto counting = in_force(store, stored);
    REQUIRE(counting.size() == 1);
    return counting.front().record->version;
  }
};

TEST_CASE("the records of each build are visited together, the one that supersedes the others in front") {
  SiblingFixture fixture;
  std::vector<StoredRecord> stored;
  for (const Cubin& cubin : {shipped(1, 1), cubin_of(2), shipped(3, 3), cubin_of(1), shipped(2, 2)})
    stored.push_back(fixture.write(cubin));
  std::vector<std::vector<std::uint64_t>> builds;
  const auto versions_of = [](Siblings siblings) {
    std::vector<std::uint64_t> versions;
    for (const StoredRecord& each : siblings)
      versions.push_back(each.record->version);
    return versions;
  };
  REQUIRE(for_each_build(stored, [&](Siblings siblings) -> Result<void> {
    builds.push_back(versions_of(siblings));
    return {};
  }));
  std::sort(builds.begin(), builds.end());
  CHECK(builds == std::vector<std::vector<std::uint64_t>>{{0}, {0, 3, 2, 1}});
  CHECK(in_force(fixture.store, stored).size() == 2);
  unsigned visited = 0;
  CHECK_FALSE(for_each_build(stored, [&](Siblings) -> Result<void> {
    ++visited;
    return Error{ErrorCode::io, "no"};
  }));
  CHECK(visited == 1);
}

TEST_CASE("of records of one build the first with an image counts, and where none has one the first") {
  SiblingFixture fixture;
  std::vector<StoredRecord> stored;
  for (int number = 1; number <= 3; ++number)
    stored.push_back(fixture.write(shipped(number, static_cast<std::uint64_t>(number))));
  CHECK(fixture.version_in_force(stored) == 3);
  std::filesystem::remove(fixture.home.image_of(shipped(3, 3)));
  CHECK(fixture.version_in_force(stored) == 2);
  write_file(fixture.home.image_of(shipped(2, 2)), Bytes(10));
  CHECK(fixture.version_in_force(stored) == 1);
  std::filesystem::remove(fixture.home.image_of(shipped(1, 1)));
  CHECK(fixture.version_in_force(stored) == 3);
}

}  // namespace
}  // namespace cubinet::test
