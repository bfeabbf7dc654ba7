// SPDX-License-Identifier: Apache-2.0
#include "servers.hpp"
#include "support/fault_server.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/base/host_port.hpp>
#include <cubinet/distribution/connect.hpp>

#include <fstream>

using namespace cubinet;
using test::FaultServer;
using test::ok;
using test::reply;

namespace {

std::shared_ptr<ContentServer> connected(const std::string& reference,
                                         const ServerCredentials& credentials = {},
                                         const std::vector<std::string>& plain_http = {}) {
  return ok(connect(ok(ServerReference::parse(reference)), test::quick_client(plain_http),
                    posix_file_system(), credentials));
}

}  // namespace

TEST_CASE("each reference leads to its server") {
  const test::TempDir folder;
  test::check_round_trip(*connected("file://" + (folder / "one").string()));
  test::check_round_trip(*connected((folder / "two").string()));
  CHECK(connected("https://host/a/b")->name() == "https://host/a/b");
  CHECK(connected("oci://host/a/b:c")->name() == "oci://host/a/b");
  CHECK(connected("s3://bucket/a b")->name() == "https://bucket.s3.us-east-1.amazonaws.com/a%20b");
  CHECK(connected("s3://dotted.bucket")->name() == "https://s3.us-east-1.amazonaws.com/dotted.bucket");
  ServerCredentials elsewhere;
  elsewhere.s3_endpoint = "https://minio:9000";
  CHECK(connected("s3://bucket/a", elsewhere)->name() == "https://minio:9000/bucket/a");
}

TEST_CASE("a bucket is signed for with the keys of the profile, as they are now") {
  const test::TempDir folder;
  const FaultServer server([](auto&, auto) { return reply(404); });
  ServerCredentials credentials;
  credentials.s3_endpoint = "http://" + server.authority();
  credentials.aws_profile = {folder / "credentials", {}, "team"};
  std::ofstream(folder / "credentials")
      << "[team]\naws_access_key_id=A\naws_secret_access_key=B\nregion=eu-west-1\n";
  const auto bucket = connected("s3://bucket", credentials, {server.authority()});
  CHECK_FALSE(ok(bucket->read_channel("stable")));
  std::ofstream(folder / "credentials")
      << "[team]\naws_access_key_id=C\naws_secret_access_key=D\naws_session_token=E\n";
  CHECK_FALSE(ok(bucket->read_channel("stable")));
  const auto requests = server.requests();
  CHECK(requests.at(0).target == "/bucket/refs/stable");
  CHECK(requests.at(0).header("authorization").find("Credential=A/") != std::string::npos);
  CHECK(requests.at(0).header("authorization").find("/eu-west-1/s3/") != std::string::npos);
  CHECK(requests.at(1).header("authorization").find("Credential=C/") != std::string::npos);
  CHECK(requests.at(1).header("x-amz-security-token") == "E");
  // Without keys nothing is signed: a bucket may be public.
  credentials.aws_profile = {};
  CHECK_FALSE(ok(connected("s3://bucket", credentials, {server.authority()})->read_channel("stable")));
  CHECK(server.requests().at(2).headers.count("authorization") == 0);
}

TEST_CASE("a registry is asked as docker is known to it, and by plain HTTP where that is allowed") {
  const test::TempDir folder;
  const FaultServer server([](const test::ReceivedRequest& request, auto) {
    return request.headers.count("authorization") == 0 ? reply(401, "", "WWW-Authenticate: Basic realm=r\r\n")
                                                       : reply(404);
  });
  ServerCredentials credentials;
  credentials.docker.file = folder / "config.json";
  std::ofstream(folder / "config.json")
      << R"({"auths":{")" << server.authority() << R"(":{"auth":"bWU6d29yZA=="}}})";
  CHECK_FALSE(ok(
      connected("oci://" + server.authority() + "/n", credentials, {server.authority()})->read_channel("x")));
  CHECK(server.requests().at(1).header("authorization") == basic_authorization({"me", "word"}).value);
}

TEST_CASE("a static server is asked with a password or a token") {
  const FaultServer server([](auto&, auto) { return reply(404); });
  ServerCredentials credentials;
  credentials.bearer = "token";
  const std::string reference = "http://" + server.authority() + "/a";
  CHECK_FALSE(ok(connected(reference, credentials, {server.authority()})->read_channel("x")));
  credentials.basic = BasicCredentials{"me", "word"};
  CHECK_FALSE(ok(connected(reference, credentials, {server.authority()})->read_channel("x")));
  CHECK(server.requests().at(0).header("authorization") == "Bearer token");
  CHECK(server.requests().at(1).header("authorization") == basic_authorization({"me", "word"}).value);
}

TEST_CASE("plain HTTP is allowed for a host and port, however they are written") {
  const auto is_allowed = [](const std::string& authority, const std::string& allowed) {
    HttpSettings settings;
    settings.plain_http = {allowed};
    const auto host = ok(HostPort::parse(authority));
    return allows_plain_http(settings, host.host, host.port.value_or(80));
  };
  CHECK(is_allowed("host", "HOST"));
  CHECK(is_allowed("host", "host:080"));
  CHECK(is_allowed("host:5000", "Host:05000"));
  CHECK(is_allowed("[::1]:5000", "[0::1]:5000"));
  CHECK_FALSE(is_allowed("host:5000", "host"));
  CHECK_FALSE(is_allowed("host", "host:443"));
  CHECK_FALSE(is_allowed("host", ""));
  CHECK_FALSE(is_allowed("host", "http://host"));
}
