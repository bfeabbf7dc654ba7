// SPDX-License-Identifier: Apache-2.0
#include "benchmark/peer_process.hpp"

#include "support/text.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cubinet;
using test::contains;

namespace {

constexpr std::chrono::seconds kLong{60};

PeerProcess started(const std::string& command) {
  auto peer = PeerProcess::start("P", command, {"PATH=/usr/bin:/bin", "SAID=hello"});
  REQUIRE(peer.has_value());
  return *std::move(peer);
}

}  // namespace

TEST_CASE("a peer answers a line for each line, under its name") {
  PeerProcess peer = started(R"(while read line; do echo "{\"seen\": $line}"; done)");
  CHECK(peer.name() == "P");
  for (int i = 0; i < 3; ++i) {
    const auto answer = peer.ask({{"time", i}}, kLong);
    REQUIRE(answer.has_value());
    CHECK((*answer)["seen"]["time"] == i);
  }
}

TEST_CASE("a peer that answers in pieces, or two lines at once, is understood") {
  PeerProcess peer =
      started(R"(read a; printf '{"x":'; sleep 0.2; printf '1}\n{"x":2}\n'; read b; cat >/dev/null)");
  CHECK((*peer.ask({{"time", 1}}, kLong))["x"] == 1);
  CHECK((*peer.ask({{"time", 1}}, kLong))["x"] == 2);
}

TEST_CASE(
    "a peer that is gone, silent or talks of something else is an error with its name, and is not asked "
    "again") {
  for (const char* command :
       {"exit 3", "true; /nonexistent/program", "read a; echo hello; cat", "read a; echo '[1]'; cat",
        R"(read a; printf '{}\0x\n'; cat)", "head -c 3000000 /dev/zero; cat", "sleep 30"}) {
    CAPTURE(command);
    PeerProcess peer = started(command);
    const auto answer =
        peer.ask({{"time", 1}}, std::chrono::seconds(command == std::string("sleep 30") ? 1 : 60));
    REQUIRE_FALSE(answer.has_value());
    CHECK(contains(answer.error().message, "the peer P "));
    CHECK(contains(peer.ask({{"time", 1}}, kLong).error().message, "has ended before"));
  }
}

TEST_CASE("a question of any bytes is asked, and an answer of any depth is understood") {
  PeerProcess peer = started(R"(while read line; do echo '{"ready": "it", "seen": '"$line"'}'; done)");
  const auto echoed = peer.ask({{"tag", "\xff"}}, kLong);
  REQUIRE(echoed.has_value());
  CHECK((*echoed)["seen"]["tag"] == "\xef\xbf\xbd");
  PeerProcess deep =
      started(R"(read line; printf '{"ready": "it", "x": '; head -c 400000 /dev/zero | tr '\0' '['; )"
              R"(head -c 400000 /dev/zero | tr '\0' ']'; echo '}'; cat >/dev/null)");
  const auto answer = deep.ask({{"time", 1}}, kLong);
  REQUIRE(answer.has_value());
  CHECK((*answer)["ready"] == "it");
  CHECK(answer->dump().size() < 100);
}

TEST_CASE("a peer that reads nothing of a long question is given up in time") {
  PeerProcess peer = started("sleep 30");
  const auto answer = peer.ask({{"kv_lengths", std::vector<int>(1'000'000, 1)}}, std::chrono::seconds(1));
  REQUIRE_FALSE(answer.has_value());
  CHECK(contains(answer.error().message, "the peer P gave no answer in time"));
}

TEST_CASE("a peer has the environment that it is given and no other variable") {
  PeerProcess peer =
      started(R"(read line; echo "{\"said\": \"$SAID\", \"home\": \"$HOME\"}"; cat >/dev/null)");
  const auto answer = peer.ask({{"time", 1}}, kLong);
  REQUIRE(answer.has_value());
  CHECK((*answer)["said"] == "hello");
  CHECK((*answer)["home"] == "");
}
