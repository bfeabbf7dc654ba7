// SPDX-License-Identifier: Apache-2.0
#include "remote_bundle.hpp"

#include "home_fixture.hpp"
#include "support/ok.hpp"
#include "support/server_process.hpp"
#include "tool.hpp"

#include <cubinet/distribution/folder_server.hpp>
#include <cubinet/trust/secret_key.hpp>

using namespace cubinet;
using namespace cubinet::cli;
using namespace cubinet::test;

namespace {

struct WithPolicy {
  explicit WithPolicy(const std::string& policy) { sandbox.write("policy.json", policy); }

  Sandbox sandbox;
  EnvironmentVariables environment = {};
  GlobalOptions options = {sandbox.path("home"), "", sandbox.path("policy.json")};
  Console console{Color::never};
  Context context{environment, options, console};
};

}  // namespace

TEST_CASE("no spelling of a server leads around its policy, or to a milder one") {
  const auto nginx = Nginx::start();
  if (nginx == nullptr) return;
  const std::string server = nginx->authority(), port = server.substr(server.find(':'));
  const WithPolicy with(R"({"stores":[
    {"place":"http://)" +
                        server + R"(/kernels/","trusted_keys":[")" +
                        ok(SecretKey::generate()).public_key().to_string() + R"("]},
    {"place":"http://)" +
                        server + R"(/free/","require_signed":false}]})");
  const Sandbox& sandbox = with.sandbox;
  BundleOptions options;
  options.channel = "stable";
  ok(create_bundle(sandbox.path("a.bundle"), three_cubins(), options));
  REQUIRE(
      sandbox.run({"push", sandbox.path("a.bundle"), (nginx->served() / "kernels#stable").string()}).status ==
      0);
  REQUIRE(sandbox.run({"push", sandbox.path("a.bundle"), (nginx->served() / "free/kernels#stable").string()})
              .status == 0);
  const auto pull = [&](const std::string& place) {
    return sandbox.run({"pull", place + "#stable", "-o", sandbox.path("b.bundle"), "--plain-http", server,
                        "--policy", sandbox.path("policy.json")});
  };
  CHECK(pull("http://" + server + "/free/kernels").status == 0);
  for (const std::string& place :
       {server + "/kernels", server + "/kernels/", server + "//kernels", server + "/./kernels",
        server + "/kernels/.", server + "/a/../kernels", server + "/free/../kernels", server + "/%6bernels",
        server + "/kernels%2f", server + "/free/%2e%2e/kernels", server + "/free%2f..%2fkernels",
        "127.0.0.1:0" + port.substr(1) + "/kernels", "127.1" + port + "/kernels",
        "0x7f.1" + port + "/kernels", "[::ffff:127.0.0.1]" + port + "/kernels", "x@" + server + "/kernels"}) {
    CAPTURE(place);
    std::filesystem::remove(sandbox / "b.bundle");
    CHECK(pull("http://" + place).status != 0);
    CHECK_FALSE(std::filesystem::exists(sandbox / "b.bundle"));
  }
}

TEST_CASE("of a remote bundle the root answers to the policy while the pack is nowhere") {
  const WithPolicy with(R"({"default":{}})");
  BundleOptions options;
  options.channel = "stable";
  options.version = 7;
  ok(create_bundle(with.sandbox.path("a.bundle"), three_cubins(), options));
  const auto bundle = ok(Bundle::open(with.sandbox.path("a.bundle")));
  const auto server = open_folder_server(posix_file_system(), with.sandbox / "served");
  const Sha256Digest digest = ok(push_bundle(
      *server, posix_file_system(), {with.sandbox.path("a.bundle"), bundle->root_bytes().size()}, "stable"));
  const RemoteBundle remote = ok(read_remote_bundle(*server, digest));
  std::filesystem::remove(with.sandbox / ("served/blobs/sha256/" + remote.pack.digest.to_hex()));
  CHECK(ok(open_remote(with.context, server, remote, std::nullopt))->root().options.version == 7);
  TrustPolicy policy;
  policy.trusted_keys = {ok(SecretKey::generate()).public_key()};
  const auto refused = open_remote(with.context, server, remote, policy);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::untrusted);
}
