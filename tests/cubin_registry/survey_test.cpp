// SPDX-License-Identifier: Apache-2.0
#include "local/survey.hpp"

#include "cubin_registry/home_fixture.hpp"

namespace cubinet::test {
namespace {

TEST_CASE("a survey tells what is good from what is damaged and from what this build cannot read") {
  HomeFixture home;
  const auto registry = home.open();
  REQUIRE(publishes(*registry, cubin_of(1)));
  const auto record = home.only_file("records");
  const Bytes whole = read_file(record);
  const FileStore store(posix_file_system(), HomeLayout(home.home), home.log.sink());
  CHECK(survey_records(store)->records.size() == 1);
  CHECK(survey_records(store)->named == std::set<Sha256Digest>{cubin_of(1).record->digest});
  Bytes newer = whole;
  newer[4] = std::byte{0xff};  // the version
  write_file(record, newer);
  CHECK(survey_records(store)->unreadable.size() == 1);
  write_file(record, Bytes(10));
  CHECK(survey_records(store)->damaged.size() == 1);
  CHECK(survey_records(store)->records.empty());
}

}  // namespace
}  // namespace cubinet::test
