// SPDX-License-Identifier: Apache-2.0
#include "home_fixture.hpp"
#include "support/fault_server.hpp"
#include "support/ok.hpp"
#include "support/server_process.hpp"
#include "tool.hpp"

#include <cubinet/transport/http_message.hpp>

using namespace cubinet;
using namespace cubinet::test;

namespace {

ToolResult ask(const Sandbox& sandbox, const FaultServer& server, const std::string& reference,
               const std::vector<std::pair<std::string, std::string>>& environment = {},
               const std::vector<std::string>& more = {}) {
  std::vector<std::string> line = {"pull", reference, "--dry-run", "--plain-http", server.authority()};
  line.insert(line.end(), more.begin(), more.end());
  ToolSetting setting;
  setting.environment = environment;
  return sandbox.run(line, setting);
}

}  // namespace

TEST_CASE("keys of AWS are those of the environment, or of the profile that it names") {
  const Sandbox sandbox;
  const FaultServer server([](auto&, auto) { return reply(404); });
  const std::vector<std::string> endpoint = {"--endpoint", "http://" + server.authority()};
  ask(sandbox, server, "s3://bucket/a#stable",
      {{"AWS_ACCESS_KEY_ID", "FIRST"},
       {"AWS_SECRET_ACCESS_KEY", "x"},
       {"AWS_SESSION_TOKEN", "t"},
       {"AWS_REGION", "here"}},
      endpoint);
  sandbox.write("keys", "[team]\naws_access_key_id=SECOND\naws_secret_access_key=y\n");
  sandbox.write("config", "[profile team]\nregion=there\n");
  ask(sandbox, server, "s3://bucket/a#stable",
      {{"AWS_PROFILE", "team"},
       {"AWS_SHARED_CREDENTIALS_FILE", sandbox.path("keys")},
       {"AWS_CONFIG_FILE", sandbox.path("config")}},
      endpoint);
  std::filesystem::create_directory(sandbox / ".aws");
  sandbox.write(".aws/credentials", "[default]\naws_access_key_id=THIRD\naws_secret_access_key=z\n");
  ask(sandbox, server, "s3://bucket/a#stable", {{"HOME", sandbox.path(".")}}, endpoint);
  const auto requests = server.requests();
  REQUIRE(requests.size() == 3);
  CHECK(contains(requests[0].header("authorization"), "Credential=FIRST/"));
  CHECK(contains(requests[0].header("authorization"), "/here/s3/"));
  CHECK(requests[0].header("x-amz-security-token") == "t");
  CHECK(contains(requests[1].header("authorization"), "Credential=SECOND/"));
  CHECK(contains(requests[1].header("authorization"), "/there/s3/"));
  CHECK(contains(requests[2].header("authorization"), "Credential=THIRD/"));
}

TEST_CASE("a registry is asked as docker logged in, by file and by helper") {
  const Sandbox sandbox;
  const FaultServer server([](const ReceivedRequest& request, auto) {
    return request.header("authorization").empty() ? reply(401, "", "WWW-Authenticate: Basic realm=r\r\n")
                                                   : reply(404);
  });
  const std::string reference = "oci://" + server.authority() + "/n:stable";
  sandbox.write("config.json", R"({"auths":{")" + server.authority() + R"(":{"auth":"bWU6d29yZA=="}}})");
  ask(sandbox, server, reference, {{"DOCKER_CONFIG", sandbox.path(".")}});
  CHECK(server.requests().back().header("authorization") == basic_authorization({"me", "word"}).value);
  sandbox.write(
      "docker-credential-mine",
      "#!/bin/sh\nread server\necho \"{\\\"Username\\\":\\\"$WHO\\\",\\\"Secret\\\":\\\"s\\\"}\"\n");
  std::filesystem::permissions(sandbox / "docker-credential-mine", std::filesystem::perms::owner_all);
  sandbox.write("config.json", R"({"credsStore":"mine"})");
  ask(sandbox, server, reference,
      {{"DOCKER_CONFIG", sandbox.path(".")},
       {"PATH", sandbox.path(".") + ":/usr/bin:/bin"},
       {"WHO", "helped"}});
  CHECK(server.requests().back().header("authorization") == basic_authorization({"helped", "s"}).value);
}

TEST_CASE("a proxy is that of the environment, except for whom it does not count") {
  const Sandbox sandbox;
  const FaultServer proxy([](auto&, auto) { return reply(404); });
  const std::string url = "http://server.invalid/a#stable";
  const std::vector<std::string> plain = {"--plain-http", "server.invalid"};
  ask(sandbox, proxy, url, {{"https_proxy", proxy.url("")}}, plain);
  REQUIRE(proxy.requests().size() == 1);
  CHECK(proxy.requests()[0].target == "http://server.invalid/a/refs/stable");
  const FaultServer server([](auto&, auto) { return reply(404); });
  ask(sandbox, server, server.url("/a#stable"), {{"ALL_PROXY", proxy.url("")}, {"NO_PROXY", "127.0.0.1"}});
  CHECK(server.requests().size() == 1);
  CHECK(proxy.requests().size() == 1);
}

TEST_CASE("authorities and a certificate of the line are shown to a server that wants them") {
  const auto nginx = Nginx::start();
  if (!nginx) return;
  const Sandbox sandbox;
  const std::string reference = nginx->tls_url("/mutual/k#stable");
  const std::vector<std::string> line = {"pull", reference, "--dry-run", "--ca",
                                         nginx->authorities().string()};
  CHECK(contains(sandbox.run(line).err, "403"));
  auto known = line;
  known.insert(known.end(),
               {"--cert", nginx->client_certificate().string(), "--cert-key", nginx->client_key().string()});
  CHECK(contains(sandbox.run(known).err, "has no channel"));
  CHECK(sandbox.run({"pull", reference, "--dry-run", "--json"}).json()["error"]["code"] == "untrusted");
}

TEST_CASE("a user without a password file is refused") {
  const Sandbox sandbox;
  CHECK(sandbox.run({"pull", "https://host/a#b", "--dry-run", "--user", "me"}).status == 2);
}

namespace {

// Returns the reference of a bundle of three kernels on a server that is a folder.
std::string serve(const Sandbox& sandbox) {
  BundleOptions options;
  options.channel = "stable";
  options.version = 7;
  ok(create_bundle(sandbox.path("a.bundle"), three_cubins(), options));
  REQUIRE(sandbox.run({"push", sandbox.path("a.bundle"), sandbox.path("served")}).status == 0);
  return "file://" + sandbox.path("served") + "#stable";
}

}  // namespace

TEST_CASE("a bundle on a server is named as one in a file is, and its kernels stay in the home") {
  const Sandbox sandbox;
  const std::string reference = serve(sandbox);
  std::filesystem::create_directories(sandbox.home());
  const std::string key = three_cubins().back().record->identity.key().to_string();
  const auto explained = sandbox.run({"explain", key, "--device", "9.0", "--bundle", reference, "--json"});
  REQUIRE_MESSAGE(explained.status == 0, explained.err);
  CHECK(explained.json()["chosen"]["source"] == "server");
  CHECK(explained.json()["chosen"]["place"] == reference);
  CHECK(explained.json()["bundles"][0]["bundle"] == reference);
  CHECK(explained.json()["bundles"][0]["fetched_bytes"] > 0);
  CHECK(sandbox.run({"inspect", key, "--bundle", reference}).status == 0);
  CHECK(sandbox.run({"key", key, "--bundle", reference}).status == 0);
  // Later requests find the kernel in the home, without the server.
  std::filesystem::remove_all(sandbox / "served");
  CHECK(sandbox.run({"inspect", key}).status == 0);
  const auto again = sandbox.run({"explain", key, "--device", "9.0", "--bundle", reference, "--json"});
  CHECK(again.json()["chosen"]["source"] == "registry");
  CHECK(again.json()["builds"].size() == 2);
  const auto hits = sandbox.run({"registry", "stats", "--hits", "--json"}).json()["hits"]["servers"];
  REQUIRE(hits.size() == 1);
  CHECK(hits[0]["place"] == reference);
  CHECK(hits[0]["asked"] > 0);
  CHECK(hits[0]["used"] == 1);
  CHECK(hits[0]["fetched_bytes"] > 0);
  CHECK(contains(sandbox.run({"registry", "stats", "--hits"}).out, reference));
}

TEST_CASE("a server that may not be asked, or gives no answer, is passed over and told") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  const std::string key = three_cubins().back().record->identity.key().to_string();
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"https://host.invalid/a#stable", "--offline"},
        std::vector<std::string>{"http://127.0.0.1:1/a#stable", "--plain-http", "127.0.0.1:1"}}) {
    std::vector<std::string> line = {"explain", key, "--device", "9.0", "--bundle"};
    line.insert(line.end(), more.begin(), more.end());
    const auto result = sandbox.run(line);
    CHECK(result.status == 0);
    CHECK(contains(result.err, "skipped"));
  }
  CHECK(sandbox.run({"explain", key, "--device", "9.0", "--bundle", "https://host.invalid/a"}).status == 2);
}
