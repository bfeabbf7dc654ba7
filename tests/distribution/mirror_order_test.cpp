// SPDX-License-Identifier: Apache-2.0
#include "mirror_order.hpp"

#include "support/ok.hpp"
#include "support/text.hpp"

using namespace cubinet;
using namespace std::chrono_literals;
using test::contains;
using test::ok;

namespace {

// Answers of servers by their number, and who was asked.
struct OrderOf {
  OrderOf(std::size_t servers, std::chrono::milliseconds rest) : order(servers, rest) {}
  Result<void> ask(const std::vector<std::optional<ErrorCode>>& answers) {
    asked.clear();
    return order.first_of([&](std::size_t server, bool again) -> Result<void> {
      CHECK(again == !asked.empty());
      asked.push_back(server);
      if (!answers[server]) return {};
      return Error{*answers[server], "server " + std::to_string(server)};
    });
  }

  MirrorOrder order;
  std::vector<std::size_t> asked = {};
};

constexpr std::nullopt_t kYes = std::nullopt;

}  // namespace

TEST_CASE("mirrors are asked in their order until one has it, or an error of ours ends it") {
  OrderOf servers(3, 1min);
  ok(servers.ask({kYes, kYes, kYes}));
  CHECK(servers.asked == std::vector<std::size_t>{0});
  ok(servers.ask({ErrorCode::not_found, ErrorCode::corruption, kYes}));
  CHECK(servers.asked == std::vector<std::size_t>{0, 1, 2});
  CHECK(servers.ask({ErrorCode::io, kYes, kYes}).error().code == ErrorCode::io);
  CHECK(servers.asked == std::vector<std::size_t>{0});
  const Error none = servers.ask({ErrorCode::corruption, ErrorCode::not_found, ErrorCode::not_found}).error();
  CHECK(none.code == ErrorCode::corruption);
  CHECK(none.message == "server 0; server 1; server 2");
}

TEST_CASE("a mirror that gave no answer is passed over until it has rested, unless all are") {
  OrderOf servers(2, 1min);
  ok(servers.ask({ErrorCode::unavailable, kYes}));
  ok(servers.ask({kYes, kYes}));
  CHECK(servers.asked == std::vector<std::size_t>{1});
  const Error absent = servers.ask({kYes, ErrorCode::not_found}).error();
  CHECK(absent.code == ErrorCode::unavailable);
  CHECK(contains(absent.message, "1 mirror that gave no answer"));
  CHECK_FALSE(servers.ask({kYes, ErrorCode::unavailable}));
  ok(servers.ask({kYes, kYes}));
  CHECK(servers.asked == std::vector<std::size_t>{0});
}
