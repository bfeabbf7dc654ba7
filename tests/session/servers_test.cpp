// SPDX-License-Identifier: Apache-2.0
#include "support/fault_server.hpp"
#include "support/ok.hpp"
#include "support/text.hpp"

#include <cubinet/session/servers.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using test::ok;

TEST_CASE("requests name the program and its version and avoid the proxy for the exceptions to it") {
  const test::FaultServer server([](auto&, auto) { return test::reply(404); });
  ServerAccess access;
  access.plain_http = {server.authority()};
  access.proxy = "http://127.0.0.1:1";
  access.no_proxy = "127.0.0.1";
  const auto opened =
      ok(open_servers(access, {ok(ServerReference::parse("http://" + server.authority() + "/k"))}));
  CHECK_FALSE(ok(opened.server->read_channel("stable")));
  REQUIRE_FALSE(server.requests().empty());
  CHECK(server.requests().front().header("user-agent").starts_with("cubinet/"));
}

TEST_CASE("a user without a password is invalid, for blobs and for files") {
  ServerAccess access;
  access.user = "me";
  const std::vector<ServerReference> references = {ok(ServerReference::parse("https://host/k"))};
  CHECK(open_servers(access, references).error().code == ErrorCode::invalid_argument);
  CHECK(open_file_servers(access, references, {}).error().code == ErrorCode::invalid_argument);
}
