// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"
#include "tool.hpp"

#include <cubinet/trust/key_set.hpp>
#include <cubinet/trust/secret_key.hpp>
#include <cubinet/trust/signature.hpp>

#include <sys/stat.h>

using namespace cubinet;
using namespace cubinet::test;

namespace {

SecretKey make_key(const Sandbox& sandbox, const std::string& name) {
  REQUIRE(sandbox.run({"trust", "keygen", sandbox.path(name)}).status == 0);
  return ok(read_secret_key(*posix_file_system(), sandbox / name, nullptr));
}

std::string write_set(const Sandbox& sandbox, int version, const std::vector<const SecretKey*>& keys,
                      const std::vector<const SecretKey*>& signers) {
  nlohmann::json list = nlohmann::json::array();
  for (const SecretKey* key : keys)
    list.push_back(key->public_key().to_string());
  const nlohmann::json set = {
      {"type", "cubinet key set"}, {"version", version}, {"threshold", keys.size()}, {"keys", list}};
  const std::string name = "set-" + std::to_string(version) + ".json";
  sandbox.write(name, set.dump());
  for (const SecretKey* key : signers) {
    sandbox.write(name + "." + key->public_key().id() + ".minisig",
                  ok(sign(*key, as_bytes(set.dump()), "")).to_file());
  }
  return sandbox.path(name);
}

}  // namespace

TEST_CASE("keygen writes a secret key for its owner and a public one for all, and overwrites neither") {
  const Sandbox sandbox;
  const ToolResult made = sandbox.run({"trust", "keygen", sandbox.path("key"), "--json"});
  CHECK(made.status == 0);
  const auto document = made.json();
  const SecretKey key = ok(read_secret_key(*posix_file_system(), sandbox / "key", nullptr));
  CHECK(document["public_key"] == key.public_key().to_string());
  CHECK(document["id"] == key.public_key().id());
  CHECK(document["encrypted"] == false);
  CHECK(sandbox.read("key.pub") == key.public_key().to_file());
  struct stat info {};
  REQUIRE(::stat(sandbox.path("key").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777U) == 0600U);
  CHECK(sandbox.run({"trust", "keygen", sandbox.path("key")}).status == 3);
  std::filesystem::remove(sandbox / "key.pub");
  CHECK(sandbox.run({"trust", "keygen", sandbox.path("key")}).status == 3);
  CHECK_FALSE(std::filesystem::exists(sandbox / "key.pub"));
  CHECK(sandbox.run({"trust", "keygen", (sandbox.home() / "key").string()}).status == 2);
  CHECK(sandbox.run({"trust", "keygen", sandbox.path("other"), "--password-file", sandbox.path("none")})
            .status == 2);
  CHECK_FALSE(std::filesystem::exists(sandbox / "other"));
}

TEST_CASE("key sets follow each other into the home") {
  const Sandbox sandbox;
  const SecretKey a = make_key(sandbox, "a");
  const SecretKey b = make_key(sandbox, "b");
  const std::string first = write_set(sandbox, 1, {&a}, {&a});
  CHECK(sandbox.run({"trust", "update", first}).status == 2);
  const ToolResult taken = sandbox.run({"trust", "update", first, "--first", "--json"});
  CHECK(taken.status == 0);
  CHECK(taken.json()["version"] == 1);
  const std::string unsigned_set = write_set(sandbox, 2, {&b}, {&b});
  const ToolResult refused = sandbox.run({"trust", "update", unsigned_set});
  CHECK(refused.status == 3);
  CHECK(contains(refused.err, "the home's key set 1"));
  CHECK(sandbox.run({"trust", "update", write_set(sandbox, 2, {&b}, {&a, &b})}).status == 0);
  CHECK(ok(read_key_set(*posix_file_system(), sandbox.home()))->version == 2);
  CHECK(sandbox.run({"trust", "update", first}).status == 3);
}
