// SPDX-License-Identifier: Apache-2.0
#include "benchmark/peers.hpp"

#include "support/ok.hpp"
#include "support/text.hpp"

#include <doctest/doctest.h>

using namespace cubinet;
using test::contains;
using test::ok;

namespace {

BenchmarkOptions options_with(std::vector<BenchmarkPeer> peers) {
  BenchmarkOptions options;
  options.peers = std::move(peers);
  options.peer_environment = {"PATH=/usr/bin:/bin"};
  return options;
}

}  // namespace

TEST_CASE("peers without a name or a command and two of one name are refused") {
  const std::vector<std::vector<BenchmarkPeer>> wrong = {
      {{"", "cat"}}, {{"P", ""}}, {{"P", "cat"}, {"P", "cat"}}};
  for (const std::vector<BenchmarkPeer>& peers : wrong) {
    const auto refused = start_peers(options_with(peers));
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::invalid_argument);
    CHECK(contains(refused.error().message, "BenchmarkOptions::peers"));
  }
}

TEST_CASE("a peer that misses a round has no times and the row says why") {
  auto started = start_peers(options_with(
      {{"Good", R"(read l; echo '{"ready": "v1"}'; while read l; do echo '{"seconds": 2}'; done)"},
       {"Shy", R"(while read l; do echo '{"declined": "no heads"}'; done)"},
       {"Once", R"(read l; echo '{"ready": "v1"}'; read l; echo '{"seconds": 2}')"}}));
  REQUIRE(started.has_value());
  BenchmarkRow row;
  PeerRounds rounds(*started, {{"problem", "p"}}, row);
  for (int round = 0; round < 2; ++round)
    for (std::size_t i = 0; i < rounds.size(); ++i)
      rounds.measure(i);
  rounds.finish();
  REQUIRE(row.peers.size() == 3);
  CHECK(row.peers[0].what == "v1");
  CHECK(row.peers[0].seconds == std::vector<double>{2, 2});
  CHECK(row.peers[1].seconds.empty());
  CHECK(contains(row.peers[1].what, "no heads"));
  CHECK(row.peers[2].seconds.empty());
  CHECK(contains(row.peers[2].what, "has ended"));
}
