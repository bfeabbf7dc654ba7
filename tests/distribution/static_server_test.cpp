// SPDX-License-Identifier: Apache-2.0
#include "servers.hpp"
#include "support/fault_server.hpp"
#include "support/server_process.hpp"
#include "support/skip.hpp"
#include "support/text.hpp"

#include <cubinet/distribution/static_server.hpp>
#include <cubinet/transport/aws_signer.hpp>

#include <fstream>

using namespace cubinet;
using test::FaultServer;
using test::ok;
using test::reply;

namespace {

Url url(const std::string& text) {
  return ok(Url::parse(text));
}

// moto, a stand-in for S3 that can check signatures. start() returns nullptr and skips the test if
// moto is not installed.
struct Moto {
  static std::unique_ptr<Moto> start(const char* unchecked);

  std::string authority() const { return port.authority(); }
  test::TempDir folder;
  test::ReservedPort port;
  std::optional<test::ServerProcess> process;
};

std::unique_ptr<Moto> Moto::start(const char* unchecked) {
  const auto python = test::find_program("python3");
  if (!python || !std::filesystem::exists(CUBINET_TEST_SERVERS "/moto")) {
    test::skip("moto is not installed: scripts/test.sh fetches it");
    return nullptr;
  }
  auto moto = std::make_unique<Moto>();
  moto->process.emplace(std::vector<std::string>{*python, "-m", "moto.server", "-H", "127.0.0.1", "-p",
                                                 std::to_string(moto->port.number())},
                        std::vector<std::string>{"PYTHONPATH=" CUBINET_TEST_SERVERS,
                                                 std::string("INITIAL_NO_AUTH_ACTION_COUNT=") + unchecked},
                        moto->port.number(), moto->folder / "log");
  return moto;
}

}  // namespace

TEST_CASE("nginx with WebDAV keeps blobs, manifests and channels") {
  const auto nginx = test::Nginx::start();
  if (!nginx) return;
  const auto client = test::quick_client({nginx->authority()});
  const HttpClient::Session session(*client);
  test::check_round_trip(*open_static_server(client, url(nginx->url("/kernels")), nullptr));
  const auto authorizer = std::make_shared<FixedAuthorizer>(basic_authorization({"reader", "secret"}));
  test::check_round_trip(*open_static_server(client, url(nginx->url("/private/")), authorizer));
  const auto stranger = open_static_server(client, url(nginx->url("/private")), nullptr);
  CHECK(stranger->read_channel("stable").error().native == 401);
}

TEST_CASE("a blob that was flipped, cut or lengthened on nginx is corruption") {
  const auto nginx = test::Nginx::start();
  if (!nginx) return;
  const auto server =
      open_static_server(test::quick_client({nginx->authority()}), url(nginx->url("/")), nullptr);
  const BlobDescriptor blob = describe_blob(as_bytes("content"));
  MemorySource source(as_bytes("content"));
  ok(server->write_blob(blob, source));
  for (const std::string other : {"contemt", "conten", "contents"}) {
    std::ofstream(nginx->served() / "blobs/sha256" / blob.digest.to_hex(), std::ios::trunc) << other;
    const auto read = server->read_blob(blob);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == ErrorCode::corruption);
  }
}

TEST_CASE("a page that is no blob is never one") {
  const std::string portal = "<html>please log in</html>";
  const FaultServer faulty([&](auto&, auto) { return reply(200, portal); });
  const auto server =
      open_static_server(test::quick_client({faulty.authority()}), url(faulty.url("/")), nullptr);
  CHECK(server->read_blob({sha256({}), portal.size()}).error().code == ErrorCode::corruption);
  CHECK(server->read_manifest(sha256({})).error().code == ErrorCode::corruption);
  CHECK(server->read_channel("stable").error().code == ErrorCode::corruption);
  CHECK_FALSE(ok(server->has_blob({sha256({}), 1})));
  CHECK(server->name() == faulty.url("/"));
}

TEST_CASE("a bucket keeps blobs, manifests and channels for whoever signs") {
  // Three requests create a user with a key and its rights. Every later request is checked.
  const auto moto = Moto::start("3");
  if (!moto) return;
  const auto client = test::quick_client({moto->authority()});
  const std::string base = "http://" + moto->authority();
  const auto form = [&](const std::string& fields) {
    MemorySink sink;
    MemorySource source(as_bytes(fields));
    HttpRequest request{HttpMethod::post, url(base)};
    request.headers = {{"Content-Type", "application/x-www-form-urlencoded"},
                       {"Authorization",
                        "AWS4-HMAC-SHA256 Credential=a/20150830/us-east-1/iam/aws4_request, "
                        "SignedHeaders=host, Signature=b"}};
    request.body = &source;
    request.sink = &sink;
    request.limit = 1 << 20;
    CHECK(ok(client->send(request)).status == 200);
    return std::string(as_text(sink.bytes));
  };
  const auto element = [](const std::string& xml, const std::string& name) {
    const std::size_t begin = xml.find("<" + name + ">") + name.size() + 2;
    return xml.substr(begin, xml.find("</" + name + ">") - begin);
  };
  form("Action=CreateUser&Version=2010-05-08&UserName=u");
  const std::string key = form("Action=CreateAccessKey&Version=2010-05-08&UserName=u");
  form("Action=PutUserPolicy&Version=2010-05-08&UserName=u&PolicyName=p&PolicyDocument=" +
       percent_encode(
           R"({"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]})",
           Slashes::encoded));
  const AwsCredentials credentials{element(key, "AccessKeyId"), element(key, "SecretAccessKey")};
  const auto signer = [&](AwsCredentials used) {
    return std::make_shared<S3Signer>([used] { return Result<AwsCredentials>(used); }, "us-east-1");
  };
  const auto right = signer(credentials);
  MemorySource empty({});
  HttpRequest make_bucket{HttpMethod::put, url(base + "/kernels")};
  make_bucket.body = &empty;
  make_bucket.authorizer = right.get();
  REQUIRE(ok(client->send(make_bucket)).status == 200);
  const HttpClient::Session session(*client);
  test::check_round_trip(*open_static_server(client, url(base + "/kernels/some%20prefix"), right));
  const auto wrong = open_static_server(client, url(base + "/kernels/some%20prefix"),
                                        signer({credentials.access_key, credentials.secret_key + "x"}));
  CHECK(wrong->read_channel("stable").error().native == 403);
}
