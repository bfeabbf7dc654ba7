// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"
#include "support/text.hpp"

#include <cubinet/session/home_usage.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::test;

namespace {

constexpr std::int64_t kUsageTime = 1'800'000'000;

}  // namespace

TEST_CASE("the usage of a home names the builds that nothing used") {
  const TempDir folder;
  const auto home = ok(Home::open({.path = (folder / "home").string()}));
  const Cubin used = make_cubin({"used", {}});
  ok(home->publish(used));
  ok(home->publish(make_cubin({"unused", {}}, {.filler = 1})));
  ok(home->find(used.record->identity.kernel()));
  REQUIRE(ok(home->load(used.record)));
  const HomeUsage usage = ok(HomeUsage::of(*home));
  CHECK(usage.builds.size() == 2);
  REQUIRE(usage.never_used.size() == 1);
  CHECK(usage.noted);
  const std::string text = to_text(usage, false, kUsageTime);
  CHECK(contains(text, "look-ups     1, 1 found something, 1 image used"));
  CHECK(contains(text, "never used   1 of 2 entries"));
  CHECK(contains(text, "unused() for sm_90a"));
  const auto described = describe(usage);
  CHECK(described["asked"] == 1);
  CHECK(described["never_used"][0]["template"] == "unused");
}

TEST_CASE("ten builds are named, and all on request") {
  HomeUsage usage;
  for (std::uint8_t i = 0; i < 12; ++i)
    usage.never_used.push_back(make_cubin({"one", {}}, {.filler = i}).record);
  usage.stats.entries = 12;
  CHECK(contains(to_text(usage, false, kUsageTime), "and 2 more"));
  CHECK_FALSE(contains(to_text(usage, true, kUsageTime), "more"));
}

TEST_CASE("imports, servers and a home that is only read are reported") {
  HomeUsage usage;
  ImportSummary import;
  import.number = 2;
  import.folder = "/f\n";
  import.files = 3;
  usage.imports.push_back({import, 1, kUsageTime - 7'200});
  KnownChannel channel;
  channel.place = "https://x.example/k#stable";
  channel.uses = {4, 3, 2, 1024};
  usage.channels.push_back(channel);
  usage.noted = false;
  const std::string text = to_text(usage, false, kUsageTime);
  CHECK(contains(text, "import 2     /f\\x0a: 1 of 3 cubins used, last 2 hours ago"));
  CHECK(contains(text, "4 look-ups, 3 found something, 2 images used, 1.0 KiB fetched"));
  CHECK(contains(text, "is not noted"));
  const auto described = describe(usage);
  CHECK(described["imports"][0]["last_used"] == kUsageTime - 7'200);
  CHECK(described["servers"][0]["fetched_bytes"] == 1024);
  CHECK(described["noted"] == false);
}
