// SPDX-License-Identifier: Apache-2.0
#include "home_fixture.hpp"
#include "support/ok.hpp"
#include "support/server_process.hpp"
#include "support/skip.hpp"

#include <cubinet/trust/secret_key.hpp>
#include <cubinet/trust/verification.hpp>

#include <cstdlib>
#include <filesystem>
#include <sys/stat.h>

using namespace cubinet;
using namespace cubinet::test;

namespace {

namespace fs = std::filesystem;

// A bundle, keys to sign it, and a policy in the home.
struct SignedBundle {
  Sandbox sandbox;
  std::string bundle = sandbox.path("b.bundle");
  std::vector<PublicKey> keys;

  SignedBundle() {
    make(5);
    for (const char* name : {"one", "two"}) {
      REQUIRE(sandbox.run({"trust", "keygen", sandbox.path(name)}).status == 0);
      keys.push_back(ok(PublicKey::parse(sandbox.read(std::string(name) + ".pub"))));
    }
    fs::create_directory(sandbox.home());
    fs::permissions(sandbox.home(), fs::perms(0700));
  }
  void make(std::uint64_t version, std::uint64_t expires = 0) const {
    BundleOptions options;
    options.channel = "fleet";
    options.version = version;
    options.expires = expires;
    REQUIRE(create_bundle(bundle, three_cubins(), options));
  }
  void sign(const std::string& name) const {
    REQUIRE(sandbox.run({"bundle", "sign", bundle, "--key", sandbox.path(name), "--comment", "by " + name})
                .status == 0);
  }
  void trust(std::size_t count, int threshold, int minimum = 0) const {
    nlohmann::json list = nlohmann::json::array();
    for (std::size_t i = 0; i < count; ++i)
      list.push_back(keys[i].to_string());
    const nlohmann::json policy = {
        {"default", {{"trusted_keys", list}, {"threshold", threshold}, {"minimum_version", minimum}}}};
    sandbox.write("home/policy.json", policy.dump());
    fs::permissions(sandbox.home() / "policy.json", fs::perms(0600));
  }
  fs::path signature(std::size_t key) const { return signature_path(bundle, keys[key].id()); }
  ToolResult verify() const { return sandbox.run({"bundle", "verify", bundle}); }
  void check_refused(std::string_view part) const {
    for (const std::vector<std::string>& line : std::vector<std::vector<std::string>>{
             {"bundle", "verify", bundle},
             {"bundle", "list", bundle},
             {"bundle", "import", bundle},
             {"bundle", "extract", bundle, "two", "-o", sandbox.path("x")},
             {"explain", "two", "-p", "number=1", "--device", "sm_90", "--bundle", bundle}}) {
      const ToolResult result = sandbox.run(line);
      CAPTURE(result.err);
      CHECK(result.status == 3);
      CHECK(contains(result.err, part));
    }
  }
};

}  // namespace

TEST_CASE("a signed bundle is taken from a place whose policy wants that, and no other") {
  const SignedBundle setting;
  CHECK(contains(setting.verify().out, "no policy"));
  setting.trust(1, 1);
  setting.check_refused("signed by 0 of the 1 trusted keys");
  setting.sign("one");
  const ToolResult verified = setting.verify();
  CHECK(verified.status == 0);
  CHECK(contains(verified.out, "signed by " + setting.keys[0].id() + " (by one), 1 key wanted by "));
  CHECK(setting.sandbox.run({"bundle", "import", setting.bundle}).status == 0);
  const auto document = setting.sandbox.run({"bundle", "verify", setting.bundle, "--json"}).json();
  CHECK(document["trust"]["signers"][0]["public_key"] == setting.keys[0].to_string());
  CHECK(document["trust"]["signers"][0]["comment"] == "by one");
}

TEST_CASE("minisign verifies what bundle sign has signed, by the number of bytes that it says") {
  if (!find_program("minisign")) return skip("minisign is not installed");
  const SignedBundle setting;
  const ToolResult signed_bundle =
      setting.sandbox.run({"bundle", "sign", setting.bundle, "--key", setting.sandbox.path("one"), "--json"});
  REQUIRE(signed_bundle.status == 0);
  const auto document = signed_bundle.json();
  const std::string line = "head -c " + std::to_string(document["signed_bytes"].get<int>()) + " '" +
                           setting.bundle + "' >'" + setting.sandbox.path("root") +
                           "' && minisign -V -q -P " + document["public_key"].get<std::string>() + " -m '" +
                           setting.sandbox.path("root") + "' -x '" +
                           document["signature"].get<std::string>() + "' 2>/dev/null";
  CHECK(std::system(line.c_str()) == 0);
  flip_bit(setting.bundle, 100);
  CHECK(std::system(line.c_str()) != 0);
}

TEST_CASE("a threshold counts keys, also when one has two files") {
  const SignedBundle setting;
  setting.trust(2, 2);
  setting.sign("one");
  fs::copy(setting.signature(0), setting.signature(1));
  setting.check_refused("signed by 1 of the 2 trusted keys");
  setting.sign("two");
  CHECK(setting.verify().status == 0);
}

TEST_CASE("an older bundle is refused once a newer one was seen, and below the least version always") {
  const SignedBundle setting;
  setting.trust(1, 1);
  setting.sign("one");
  fs::copy(setting.bundle, setting.sandbox / "old.bundle");
  fs::copy(setting.signature(0), signature_path(setting.sandbox / "old.bundle", setting.keys[0].id()));
  setting.make(6);
  setting.check_refused("signed by 0 of the 1");  // the signature is of the version before
  setting.sign("one");
  CHECK(setting.verify().status == 0);
  const ToolResult older = setting.sandbox.run({"bundle", "import", setting.sandbox.path("old.bundle")});
  CHECK(older.status == 3);
  CHECK(contains(older.err, "version 5 of 'fleet'"));
  CHECK(contains(older.err, "version 6"));
  setting.trust(1, 1, 7);
  setting.check_refused("below the least that is taken, 7");
}

TEST_CASE("a bundle file that has expired is told, not refused") {
  const SignedBundle setting;
  setting.make(5, 1'000'000'000);
  setting.trust(1, 1);
  setting.sign("one");
  const ToolResult verified = setting.verify();
  CHECK(verified.status == 0);
  CHECK(contains(verified.err, "has expired"));
}

TEST_CASE("a policy that others can write stops whatever takes a bundle") {
  const SignedBundle setting;
  setting.trust(1, 1);
  setting.sign("one");
  fs::permissions(setting.sandbox.home() / "policy.json", fs::perms(0666));
  setting.check_refused("can be written by others");
  const ToolResult doctor = setting.sandbox.run({"doctor", "--json"});
  CHECK(contains(doctor.out, "can be written by others"));
}

TEST_CASE("a policy that is named counts instead of the policy of the home") {
  const SignedBundle setting;
  setting.trust(1, 1);
  setting.sandbox.write("lax.json", R"({"default": {"require_signed": false}})");
  fs::permissions(setting.sandbox / "lax.json", fs::perms(0600));
  const ToolResult lax =
      setting.sandbox.run({"bundle", "verify", setting.bundle, "--policy", setting.sandbox.path("lax.json")});
  CHECK(lax.status == 0);
  CHECK(contains(lax.out, "not signed, which "));
  setting.sandbox.write("wrong.json", R"({"default": {"require_signd": true}})");
  const ToolResult wrong = setting.sandbox.run(
      {"bundle", "verify", setting.bundle, "--policy", setting.sandbox.path("wrong.json")});
  CHECK(wrong.status == 2);
  CHECK(contains(wrong.err, "require_signed"));
  CHECK(setting.sandbox.run({"bundle", "verify", setting.bundle, "--policy", "/nothing"}).status == 2);
}

TEST_CASE("explain says who signed the bundles, and doctor whose signatures count") {
  const SignedBundle setting;
  setting.trust(1, 1);
  setting.sign("one");
  const std::string key = three_cubins().back().record->identity.key().to_string();
  const ToolResult explained =
      setting.sandbox.run({"explain", key, "--device", "sm_90", "--bundle", setting.bundle});
  CHECK(contains(explained.out, "signed by " + setting.keys[0].id()));
  const ToolResult doctor = setting.sandbox.run({"doctor"});
  CHECK(contains(doctor.out, "policy      " + (setting.sandbox.home() / "policy.json").string()));
}

TEST_CASE("a damaged bundle is not signed") {
  const SignedBundle setting;
  flip_bit(setting.bundle, fs::file_size(setting.bundle) - 1);
  const ToolResult damaged =
      setting.sandbox.run({"bundle", "sign", setting.bundle, "--key", setting.sandbox.path("one")});
  CHECK(damaged.status == 1);
  CHECK_FALSE(fs::exists(setting.signature(0)));
}

TEST_CASE("a secret key that others can read signs nothing, and an encrypted one only with its password") {
  const SignedBundle setting;
  const auto sign = [&](const std::string& key, const std::string& password) {
    return setting.sandbox.run({"bundle", "sign", setting.bundle, "--key", setting.sandbox.path(key),
                                "--password-file", setting.sandbox.path(password)});
  };
  setting.sandbox.write("wrong", "wrong\n");
  CHECK(setting.sandbox
            .run({"trust", "keygen", setting.sandbox.path("strong"), "--password-file",
                  setting.sandbox.path("wrong")})
            .status == 0);
  // As that one is, but for less memory.
  const SecretBytes password(Bytes{std::byte{'k'}, std::byte{'e'}, std::byte{'y'}});
  setting.sandbox.write("password", "key\n");
  setting.sandbox.write(
      "encrypted",
      std::string(ok(ok(SecretKey::generate()).to_file(&password, {32'768, 16'777'216})).text()));
  fs::permissions(setting.sandbox / "encrypted", fs::perms(0600));
  CHECK(sign("encrypted", "wrong").status == 3);
  CHECK(sign("encrypted", "password").status == 0);
  CHECK(setting.sandbox.run({"bundle", "sign", setting.bundle, "--key", setting.sandbox.path("encrypted")})
            .status == 2);
  fs::permissions(setting.sandbox / "one", fs::perms(0644));
  const ToolResult open =
      setting.sandbox.run({"bundle", "sign", setting.bundle, "--key", setting.sandbox.path("one")});
  CHECK(open.status == 3);
  CHECK(contains(open.err, "can be read by others"));
}
