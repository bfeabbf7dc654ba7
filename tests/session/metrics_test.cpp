// SPDX-License-Identifier: Apache-2.0
#include "support/compiler_search.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/session/metrics.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cubinet;
using test::ok;

TEST_CASE("the metrics of a new session are its stores and zeros") {
  const test::TempDir folder;
  SessionOptions options;
  options.home = (folder / "home").string();
  options.record = true;
  const auto session = ok(Session::open(options));
  const Metrics metrics = ok(Metrics::of(*session));
  CHECK(metrics.recording);
  REQUIRE(metrics.stores.size() == 2);
  CHECK(metrics.stores[1].kind == "home");
  CHECK(metrics.counters.stores.size() == 2);
  session->stop_recording();
  CHECK_FALSE(ok(Metrics::of(*session)).recording);
}

TEST_CASE("the JSON of metrics has each outcome, phase and state") {
  Metrics metrics;
  metrics.counters.compiled = 3;
  metrics.counters.compile_seconds.buckets[9] = 2;
  metrics.counters.compile_seconds.buckets.back() = 1;
  metrics.counters.compile_seconds.seconds = 200.5;
  metrics.counters.trims = 4;
  metrics.frozen = true;
  metrics.refused = 7;
  metrics.fallbacks = 2;
  metrics.counters.stores.push_back({5, 3, 2, 1});
  metrics.stores.push_back({.kind = "home", .place = "/h\n"});
  metrics.memory = {.modules = 6,
                    .bytes = 600,
                    .idle_modules = 2,
                    .idle_bytes = 200,
                    .retired_modules = 1,
                    .retired_bytes = 100};
  const auto json = nlohmann::json::parse(to_json(metrics));
  CHECK(json["requests"]["compiled"] == 3);
  CHECK(json["requests"]["miss"] == 0);
  CHECK(json["seconds"]["compile"]["count"] == 3);
  CHECK(json["seconds"]["compile"]["sum"] == 200.5);
  CHECK(json["seconds"]["compile"]["buckets"].back() == nlohmann::json({120.0, 2}));
  CHECK(json["modules"]["in_use"] == nlohmann::json({{"count", 3}, {"bytes", 300}}));
  CHECK(json["modules"]["retired"]["bytes"] == 100);
  CHECK(json["trims"]["count"] == 4);
  CHECK(json["stores"][0]["place"] == "/h\n");
  CHECK(json["stores"][0]["asked"] == 5);
  CHECK(json["recording"] == false);
  CHECK(json["frozen"] == true);
  CHECK(json["refused"] == 7);
  CHECK(json["fallbacks"] == 2);
}
