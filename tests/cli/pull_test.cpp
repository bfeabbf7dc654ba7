// SPDX-License-Identifier: Apache-2.0
#include "home_fixture.hpp"
#include "support/ok.hpp"
#include "tool.hpp"

#include <cubinet/trust/secret_key.hpp>
#include <cubinet/trust/signature.hpp>

using namespace cubinet;
using namespace cubinet::test;

namespace {

// A bundle of three kernels, pushed into a folder.
struct Served {
  explicit Served(std::uint64_t version = 7) { push(version); }
  void push(std::uint64_t version, const SecretKey* key = nullptr) {
    BundleOptions options;
    options.channel = "stable";
    options.version = version;
    ok(create_bundle(sandbox.path("a.bundle"), three_cubins(), options));
    if (key != nullptr) {
      const auto bundle = ok(Bundle::open(sandbox.path("a.bundle")));
      sandbox.write("a.bundle." + key->public_key().id() + ".minisig",
                    ok(sign(*key, bundle->root_bytes(), "")).to_file());
    }
    REQUIRE(sandbox.run({"push", sandbox.path("a.bundle"), sandbox.path("served")}).status == 0);
  }
  std::string channel() const { return "file://" + sandbox.path("served") + "#stable"; }
  ToolResult pull(const std::vector<std::string>& more) const {
    std::vector<std::string> line = {"pull", channel()};
    line.insert(line.end(), more.begin(), more.end());
    return sandbox.run(line);
  }

  Sandbox sandbox;
};

}  // namespace

TEST_CASE("what was pushed is pulled by its channel or its manifest, and verified") {
  const Served served;
  const auto result = served.pull({"-o", served.sandbox.path("b.bundle"), "--json"});
  REQUIRE_MESSAGE(result.status == 0, result.err);
  CHECK(result.json()["kernels"] == 3);
  CHECK(result.json()["version"] == 7);
  CHECK(served.sandbox.read("b.bundle") == served.sandbox.read("a.bundle"));
  CHECK(served.sandbox.run({"bundle", "verify", served.sandbox.path("b.bundle")}).status == 0);
  const std::string manifest = result.json()["reference"];
  CHECK(served.sandbox.run({"pull", manifest, "-o", served.sandbox.path("c.bundle")}).status == 0);
  CHECK(served.sandbox.read("c.bundle") == served.sandbox.read("a.bundle"));
}

TEST_CASE("a dry run tells what the root says and asks for nothing of the pack") {
  const Served served;
  for (const auto& entry : std::filesystem::directory_iterator(served.sandbox / "served/blobs/sha256")) {
    if (entry.file_size() > 2000 &&
        entry.file_size() != ok(Bundle::open(served.sandbox.path("a.bundle")))->root_bytes().size())
      std::filesystem::remove(entry.path());
  }
  const auto result = served.pull({"--dry-run", "--json"});
  REQUIRE_MESSAGE(result.status == 0, result.err);
  CHECK(result.json()["kernels"] == 3);
  CHECK(result.json()["bytes"] == std::filesystem::file_size(served.sandbox / "a.bundle"));
  CHECK(served.pull({"-o", served.sandbox.path("b.bundle")}).status != 0);
  CHECK_FALSE(std::filesystem::exists(served.sandbox / "b.bundle"));
}

TEST_CASE("what one server has wrong comes from its mirror") {
  const Served served;
  std::filesystem::copy(served.sandbox / "served", served.sandbox / "mirror",
                        std::filesystem::copy_options::recursive);
  for (const auto& entry : std::filesystem::directory_iterator(served.sandbox / "served/blobs/sha256"))
    flip_bit(entry.path(), entry.file_size() - 1);
  const std::string output = served.sandbox.path("b.bundle");
  const auto alone = served.pull({"-o", output});
  CHECK(alone.status == 1);
  CHECK_FALSE(std::filesystem::exists(output));
  CHECK(served.pull({"-o", output, "--mirror", served.sandbox.path("mirror")}).status == 0);
  CHECK(served.sandbox.read("b.bundle") == served.sandbox.read("a.bundle"));
}

TEST_CASE("a policy that asks for a signature is asked before the kernels travel") {
  Served served;
  const SecretKey key = ok(SecretKey::generate());
  std::filesystem::create_directories(served.sandbox.home());
  served.sandbox.write("home/policy.json",
                       R"({"default":{"trusted_keys":[")" + key.public_key().to_string() + "\"]}}");
  const std::string output = served.sandbox.path("b.bundle");
  const auto unsigned_one = served.pull({"-o", output, "--json"});
  CHECK(unsigned_one.status == 3);
  CHECK(unsigned_one.json()["error"]["code"] == "untrusted");
  CHECK_FALSE(std::filesystem::exists(output));
  served.push(8, &key);
  const auto signed_one = served.pull({"-o", output, "--json"});
  REQUIRE_MESSAGE(signed_one.status == 0, signed_one.err);
  CHECK(signed_one.json()["trust"]["signers"][0]["public_key"] == key.public_key().to_string());
  CHECK(std::filesystem::exists(output + "." + key.public_key().id() + ".minisig"));
  // What is older than what was seen is no release any more.
  served.push(7, &key);
  CHECK(served.pull({"-o", output}).status == 3);
}

TEST_CASE("a place that the policy has for what is here alone is not asked") {
  const Served served;
  std::filesystem::create_directories(served.sandbox.home());
  served.sandbox.write(
      "home/policy.json",
      R"({"stores":[{"place":"https://host.invalid/a","require_signed":false,"local_only":true}]})");
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"pull", "https://host.invalid/a#stable", "--dry-run"},
        std::vector<std::string>{"pull", served.channel(), "--dry-run", "--mirror",
                                 "https://host.invalid/a"}}) {
    const auto result = served.sandbox.run(line);
    CHECK(result.status == 3);
    CHECK(contains(result.err, "local_only"));
  }
  CHECK(served.pull({"--dry-run"}).status == 0);
}

TEST_CASE("what cannot be pulled is told before anything is asked") {
  const Served served;
  const std::string output = served.sandbox.path("b.bundle");
  const auto run = [&](std::vector<std::string> line) { return served.sandbox.run(std::move(line)).status; };
  CHECK(run({"pull", served.sandbox.path("served"), "-o", output}) == 2);
  CHECK(run({"pull", served.channel()}) == 2);
  CHECK(run({"pull", "file://" + served.sandbox.path("served") + "#absent", "-o", output}) == 2);
  CHECK(run({"pull", served.channel(), "-o", output, "--mirror", served.channel()}) == 2);
  CHECK(run({"pull", "https://host.invalid/a#stable", "-o", output, "--offline"}) == 3);
  CHECK(run({"pull", "http://127.0.0.1:1/a#stable", "-o", output}) == 3);
}
