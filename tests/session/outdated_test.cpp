// SPDX-License-Identifier: Apache-2.0
#include "served_channel.hpp"

#include <cubinet/session/channel_pin.hpp>
#include <cubinet/session/outdated.hpp>

#include <nlohmann/json.hpp>

using namespace cubinet;
using test::ok;

TEST_CASE("every channel that the home knows is compared with its server") {
  const test::ServedChannel served;
  served.push(6);
  ok(pull(served.session, {served.reference()}));
  const OutdatedResult same = ok(outdated(served.session));
  REQUIRE(same.results.size() == 1);
  CHECK(same.results.front().same);
  CHECK(same.current());
  served.push(7);
  const OutdatedResult older = ok(outdated(served.session));
  CHECK(older.results.front().outdated());
  CHECK(older.results.front().here == 6);
  CHECK(older.results.front().there == 7);
  CHECK_FALSE(older.current());
}

TEST_CASE("a bundle is compared with the channel that its root states") {
  const test::ServedChannel served;
  const std::string older = served.bundle(6);
  served.push(7);
  const OutdatedResult result =
      ok(outdated(served.session, {{served.reference()}, {older, served.bundle(7)}}));
  REQUIRE(result.results.size() == 3);
  CHECK(result.results[1].outdated());
  CHECK_FALSE(result.results[2].outdated());
  const OutdatedResult alone = ok(outdated({}, {{}, {older}}));
  CHECK(alone.results.front().error->code == ErrorCode::not_found);
}

TEST_CASE("a server without the channel is a result with an error") {
  const test::ServedChannel served;
  served.push(7);
  const std::string absent = "file://" + (served.folder / "served").string() + "#absent";
  const OutdatedResult result = ok(outdated(served.session, {{absent}, {}}));
  REQUIRE(result.results.front().error);
  CHECK(result.results.front().error->code == ErrorCode::not_found);
  CHECK_FALSE(result.current());
  CHECK(outdated(served.session, {{(served.folder / "served").string()}, {}}).error().code ==
        ErrorCode::invalid_argument);
}

TEST_CASE("without a home and without references there is nothing to compare") {
  CHECK(ok(outdated({})).results.empty());
  CHECK(ok(outdated({})).current());
}

TEST_CASE("the JSON of a comparison has null for an unknown version and the error of a failed one") {
  Comparison failed;
  failed.what = "r";
  failed.error = Error{ErrorCode::unavailable, "no answer"};
  const auto json = nlohmann::json::parse(to_json(OutdatedResult{{failed}}))["results"][0];
  CHECK(json["here"].is_null());
  CHECK(json["outdated"] == false);
  CHECK(json["error"]["code"] == "unavailable");
}
