// SPDX-License-Identifier: Apache-2.0
#include <cubinet/session/json.hpp>
#include <cubinet/session/refusals_json.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

TEST_CASE("refusals are listed with kernel, device, caller and count, and a broken label is repaired") {
  Refusals refusals;
  refusals.frozen = true;
  refusals.entries = {{"scale(factor=2)", 1, "decode", 3}, {"scale(factor=3)", 0, "\xff\n", 1}};
  refusals.others = 5;
  refusals.fallbacks = 7;
  const auto document = nlohmann::json::parse(to_json(refusals));
  CHECK(document.at("frozen") == true);
  CHECK(document.at("others") == 5);
  CHECK(document.at("fallbacks") == 7);
  REQUIRE(document.at("refusals").size() == 2);
  CHECK(document.at("refusals")[0].at("kernel") == "scale(factor=2)");
  CHECK(document.at("refusals")[0].at("device") == 1);
  CHECK(document.at("refusals")[0].at("caller") == "decode");
  CHECK(document.at("refusals")[0].at("count") == 3);
  CHECK(document.at("refusals")[1].at("caller") == "\xef\xbf\xbd\n");
}
