// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/distribution/server_access.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using test::ok;

TEST_CASE("the settings of HTTP name the program and take the key from the certificate unless one is named") {
  ServerAccess access;
  access.client_certificate = "/c.pem";
  access.proxy = "http://proxy:1";
  access.no_proxy = "internal";
  access.offline = true;
  const HttpSettings settings = http_settings(access);
  CHECK(settings.user_agent.starts_with("cubinet/"));
  CHECK(settings.client_key == "/c.pem");
  CHECK(settings.proxy == "http://proxy:1");
  CHECK(settings.no_proxy == "internal");
  CHECK(settings.offline);
  access.client_key = "/k.pem";
  CHECK(http_settings(access).client_key == "/k.pem");
}

TEST_CASE("credentials are those that the access has") {
  ServerAccess access;
  CHECK_FALSE(ok(credentials_of(access)).basic);
  access.user = "me";
  CHECK(credentials_of(access).error().code == ErrorCode::invalid_argument);
  access.password = "word";
  access.token = "t";
  access.s3 = {.access_key = "a", .secret_key = "s", .region = "r", .profile = "p"};
  access.docker.configuration_file = "/d";
  const ServerCredentials credentials = ok(credentials_of(access));
  CHECK(credentials.basic->user == "me");
  CHECK(credentials.bearer == "t");
  CHECK(credentials.aws->secret_key == "s");
  CHECK(credentials.aws_region == "r");
  CHECK(credentials.aws_profile.profile == "p");
  CHECK(credentials.docker.file == "/d");
}

TEST_CASE("several references are one server, and errors of its set up are returned") {
  const auto client = std::make_shared<HttpClient>(http_settings({}));
  const auto reference = [](const char* text) { return ok(ServerReference::parse(text)); };
  CHECK(connect_all({reference("https://a/k"), reference("https://b/k")}, client, posix_file_system(), {}));
  ServerAccess access;
  access.user = "me";
  CHECK_FALSE(connect_all({reference("https://a/k")}, client, posix_file_system(), access));
}
