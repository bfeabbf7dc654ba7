// SPDX-License-Identifier: Apache-2.0
#include "registry_token.hpp"

#include "servers.hpp"
#include "support/fault_server.hpp"
#include "support/text.hpp"

using namespace cubinet;
using test::contains;
using test::FaultServer;
using test::ok;
using test::ReceivedRequest;
using test::reply;

namespace {

// A registry that wants a token of its own realm for everything.
struct TokenRegistry {
  explicit TokenRegistry(std::optional<RegistryCredentials> known = {}, const std::string& elsewhere = {})
      : realm(elsewhere), credentials(std::move(known)) {}

  test::ServerReply answer(const ReceivedRequest& request) {
    if (request.target.starts_with("/token")) return reply(200, token_answer);
    if (request.header("authorization") == "Bearer " + accepted) return reply(200, "content");
    const std::string place = realm.empty() ? server.url("/token") : realm;
    return reply(
        401, "",
        "WWW-Authenticate: Bearer realm=\"" + place + "\",service=\"a b\",scope=\"repository:n:pull\"\r\n");
  }
  int get(HttpMethod method = HttpMethod::get) {
    HttpRequest request{method, ok(Url::parse(server.url("/v2/n/blobs/x")))};
    MemorySource source({});
    request.body = &source;
    request.authorizer = &authorizer;
    request.limit = 100;
    auto response = client->send(request);
    if (!response) error = response.error().to_line();
    return response ? response->status : 0;
  }

  std::string realm, accepted = "one", token_answer = R"({"token":"one"})", error;
  std::optional<RegistryCredentials> credentials;
  FaultServer server{[this](const ReceivedRequest& request, auto) { return answer(request); }};
  std::shared_ptr<HttpClient> client = test::quick_client({server.authority(), "127.0.0.1:1"});
  RegistryAuthorizer authorizer{client, ok(Url::parse(server.url("/"))), credentials};
};

}  // namespace

TEST_CASE("a challenge is a scheme and its parameters") {
  const auto bearer = parse_challenge(R"(BEARER Realm="https://a/b?c=d,e",service=plain , scope="x\"y")");
  REQUIRE(bearer);
  CHECK(bearer->scheme == "bearer");
  CHECK(bearer->parameters.at("realm") == "https://a/b?c=d,e");
  CHECK(bearer->parameters.at("service") == "plain");
  CHECK(bearer->parameters.at("scope") == "x\"y");
  CHECK(parse_challenge("Basic")->parameters.empty());
  for (const char* bad :
       {"", " ", "=x", "Bearer realm", "Bearer realm=\"open", "Bearer realm=\"\\", "Bearer ,", "Bearer =a"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_challenge(bad));
  }
}

TEST_CASE("a token is fetched when it is asked for, kept, and fetched again when it is refused") {
  TokenRegistry registry;
  CHECK(registry.get() == 200);
  CHECK(registry.get() == 200);
  auto requests = registry.server.requests();
  REQUIRE(requests.size() == 4);
  CHECK(requests[0].headers.count("authorization") == 0);
  CHECK(requests[1].target == "/token?service=a%20b&scope=repository%3An%3Apull");
  CHECK(requests[1].headers.count("authorization") == 0);
  registry.accepted = "two";
  registry.token_answer = R"({"access_token":"two","expires_in":60})";
  CHECK(registry.get() == 200);
  CHECK(registry.server.requests().size() == 7);
  // A token for reading is none for writing.
  CHECK(registry.get(HttpMethod::put) == 200);
  CHECK(registry.server.requests().at(7).headers.count("authorization") == 0);
}

TEST_CASE("a token that is refused at once is the last word") {
  TokenRegistry registry;
  registry.accepted = "other";
  CHECK(registry.get() == 401);
  CHECK(registry.server.requests().size() == 3);
}

TEST_CASE("who has a password sends it for the token alone") {
  TokenRegistry registry(RegistryCredentials{{"me", "word"}, {}});
  CHECK(registry.get() == 200);
  const auto requests = registry.server.requests();
  CHECK(requests.at(1).header("authorization") == basic_authorization({"me", "word"}).value);
  CHECK(requests.at(2).header("authorization") == "Bearer one");
}

TEST_CASE("an identity token is exchanged") {
  TokenRegistry registry(RegistryCredentials{{}, "long/lived"});
  CHECK(registry.get() == 200);
  const auto requests = registry.server.requests();
  CHECK(requests.at(1).method == "POST");
  CHECK(requests.at(1).body ==
        "service=a%20b&scope=repository%3An%3Apull&grant_type=refresh_token&client_id=cubinet&refresh_token="
        "long%2Flived");
}

TEST_CASE("a registry asked by plain HTTP cannot send our password elsewhere") {
  const FaultServer thief([](auto&, auto) { return reply(200, R"({"token":"one"})"); });
  TokenRegistry registry(RegistryCredentials{{"me", "word"}, {}}, thief.url("/token"));
  registry.client = nullptr;
  const auto client = test::quick_client({registry.server.authority(), thief.authority()});
  RegistryAuthorizer authorizer(client, ok(Url::parse(registry.server.url("/"))), registry.credentials);
  HttpRequest request{HttpMethod::get, ok(Url::parse(registry.server.url("/v2/n/blobs/x")))};
  request.authorizer = &authorizer;
  request.limit = 100;
  CHECK(ok(client->send(request)).status == 200);
  CHECK(thief.requests().at(0).headers.count("authorization") == 0);
}

TEST_CASE("what gives no token is told, and not quoted") {
  for (const std::string answer :
       {"", "{}", "[]", R"({"token":""})", R"({"tokens":"hush"})", R"({"token":7})"}) {
    TokenRegistry registry;
    registry.token_answer = answer;
    CHECK(registry.get() == 0);
    CHECK(contains(registry.error, "no token for"));
    CHECK_FALSE(contains(registry.error, "hush"));
  }
  TokenRegistry nowhere({}, "ftp://x");
  CHECK(nowhere.get() == 0);
  CHECK(contains(nowhere.error, "no usable place"));
}
