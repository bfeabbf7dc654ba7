// SPDX-License-Identifier: Apache-2.0
#include "support/temp_dir.hpp"

#include <cubinet/session.hpp>
#include <cubinet/session/store_json.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::test;

TEST_CASE("the stores of a runtime are described in the order in which they are searched") {
  const TempDir folder;
  SessionOptions options;
  options.home = (folder / "home").string();
  const auto session = Session::open(options);
  REQUIRE_MESSAGE(session, session.error().to_line());
  const nlohmann::json stores = describe_stores((*session)->runtime());
  const auto& searched = (*session)->runtime().stores();
  REQUIRE(stores.size() == searched.size());
  for (std::size_t i = 0; i < searched.size(); ++i) {
    CHECK(stores[i].at("kind") == searched[i]->description().kind);
    CHECK(stores[i].at("place") == searched[i]->description().place);
    CHECK(stores[i].at("asked") == 0);
  }
  CHECK(stores.back().at("kind") == "home");
  CHECK(stores.back().at("writable") == true);
}
