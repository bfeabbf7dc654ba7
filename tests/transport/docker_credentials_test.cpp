// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"
#include "support/temp_dir.hpp"
#include "support/text.hpp"

#include <cubinet/transport/docker_credentials.hpp>

#include <fstream>

using namespace cubinet;
using test::contains;
using test::ok;

namespace {

struct DockerFolder {
  void helper(const std::string& name, const std::string& text) {
    const auto path = folder / ("docker-credential-" + name);
    std::ofstream(path) << "#!/bin/sh\nread server\n" << text;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  Result<std::optional<RegistryCredentials>> find(const std::string& authority, const std::string& json) {
    std::ofstream(folder / "config.json") << json;
    return find_docker_credentials(*posix_file_system(),
                                   {folder / "config.json", {"", "relative", folder.path()}}, authority);
  }
  test::TempDir folder;
};

}  // namespace

TEST_CASE("what docker login wrote is read") {
  DockerFolder docker;
  const std::string json =
      R"({"auths":{"host:5000":{"auth":"bWU6cGFzczp3b3Jk"},"https://named/v1/":{"username":"u","password":"p"},)"
      R"("token":{"auth":"MDAwOg==","identitytoken":"long"},"empty":{}},"HttpHeaders":{"User-Agent":"x"}})";
  const auto found = ok(docker.find("host:5000", json));
  REQUIRE(found);
  CHECK(found->basic.user == "me");
  CHECK(found->basic.password == "pass:word");
  CHECK(ok(docker.find("named", json))->basic.password == "p");
  CHECK(ok(docker.find("token", json))->identity_token == "long");
  for (const char* unknown : {"host", "host:5001", "empty", ""})
    CHECK_FALSE(ok(docker.find(unknown, json)));
}

TEST_CASE("without a file nobody is known") {
  CHECK_FALSE(ok(find_docker_credentials(*posix_file_system(), {"/nowhere/config.json"}, "host")));
  CHECK_FALSE(ok(find_docker_credentials(*posix_file_system(), {}, "host")));
}

TEST_CASE("the helper of a registry is asked, and the one for all others") {
  DockerFolder docker;
  docker.helper("one", R"(echo "{\"ServerURL\":\"$server\",\"Username\":\"at $server\",\"Secret\":\"s\"}")");
  docker.helper("all", R"(test "$server" = other && echo '{"Username":"<token>","Secret":"t"}' && exit
echo "credentials not found in native keychain"; exit 1)");
  const std::string json =
      R"({"credHelpers":{"host:5000":"one"},"credsStore":"all","auths":{"file":{"auth":"dTpw"},"other":{}}})";
  CHECK(ok(docker.find("host:5000", json))->basic.user == "at host:5000");
  CHECK(ok(docker.find("other", json))->identity_token == "t");
  CHECK(ok(docker.find("file", json))->basic.user == "u");
  CHECK_FALSE(ok(docker.find("unknown", json)));
}

TEST_CASE("a helper that cannot answer is told, and its secret is not") {
  DockerFolder docker;
  docker.helper("broken", "echo 'no daemon'; exit 2");
  docker.helper("empty", "echo '{\"Secret\":\"\",\"Username\":\"hush\"}'");
  for (const std::string name : {"broken", "empty", "missing", "../sh", ""}) {
    CAPTURE(name);
    const auto found = docker.find("host", R"({"credHelpers":{"host":")" + name + "\"}}");
    REQUIRE_FALSE(found);
    CHECK(found.error().code == ErrorCode::unavailable);
    CHECK_FALSE(found.error().remedy.empty());
    CHECK_FALSE(contains(found.error().to_line(), "hush"));
  }
  CHECK(contains(docker.find("host", R"({"credHelpers":{"host":"broken"}})").error().message, "no daemon"));
}

TEST_CASE("a file that docker did not write is refused, and not quoted") {
  DockerFolder docker;
  for (const std::string json : {"{\"auths\":", R"({"auths":{"host":{"auth":"hush!"}}})",
                                 R"({"auths":{"host":{"auth":"aHVzaA=="}}})"}) {
    const auto found = docker.find("host", json);
    REQUIRE_FALSE(found);
    CHECK(found.error().code == ErrorCode::invalid_argument);
    CHECK_FALSE(contains(found.error().to_line(), "hush"));
  }
  CHECK_FALSE(ok(docker.find("host", R"({"auths":[1],"credHelpers":3,"credsStore":7})")));
}
