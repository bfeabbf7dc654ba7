// SPDX-License-Identifier: Apache-2.0
#include "signing.hpp"
#include "support/skip.hpp"
#include "support/temp_dir.hpp"
#include "support/text.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/trust/key_set.hpp>
#include <cubinet/trust/trust_policy.hpp>

#include <filesystem>
#include <unistd.h>

using namespace cubinet;
using namespace cubinet::test;

namespace {

namespace fs = std::filesystem;

struct PolicyHome {
  TempDir folder;
  fs::path home = folder / "home";
  fs::path policy = home / "policy.json";
  PublicKey key = new_key().public_key();

  PolicyHome() {
    fs::create_directory(home);
    fs::permissions(home, fs::perms(0700));
  }
  void write(const fs::path& path, const std::string& place) const {
    put(path,
        "{\"stores\": [{\"place\": \"" + place + "\", \"trusted_keys\": [\"" + key.to_string() + "\"]}]}");
    fs::permissions(path, fs::perms(0644));
  }
  Result<std::optional<TrustPolicy>> find(const std::string& place, const std::string& file = {}) const {
    return find_trust_policy(place, home, file);
  }
};

}  // namespace

TEST_CASE("without a policy file nothing is said of a place") {
  const PolicyHome fixture;
  CHECK_FALSE(ok(fixture.find("/x")));
  CHECK_FALSE(ok(find_trust_policy("/x", "")));
  CHECK_FALSE(ok(find_trust_policy("/x", fixture.folder / "no home")));
}

TEST_CASE("a home below a file has no policy, and a named one counts") {
  const PolicyHome fixture;
  const auto file = fixture.folder / "file";
  fixture.write(file, "/other");
  CHECK_FALSE(ok(find_trust_policy("/x", file / "home")));
  CHECK(ok(find_trust_policy("/other", file / "home", file)));
}

TEST_CASE("the policy of the home counts, and one that is named instead of it") {
  const PolicyHome fixture;
  fixture.write(fixture.policy, "/srv/");
  const auto found = ok(fixture.find("/srv/x"));
  REQUIRE(found);
  CHECK(found->trusted_keys == std::vector<PublicKey>{fixture.key});
  CHECK(found->versions_seen == versions_seen_path(fixture.home).string());
  CHECK_FALSE(ok(fixture.find("/other")));
  const auto named = fixture.folder / "named.json";
  fixture.write(named, "/other");
  CHECK(ok(fixture.find("/other", named)));
  CHECK_FALSE(ok(fixture.find("/srv/x", named)));
  CHECK(fixture.find("/x", fixture.folder / "nothing").error().code == ErrorCode::not_found);
  CHECK(ok(find_trust_policy("/other", "", named)));
}

TEST_CASE("only a store of its own place applies to the bundle of the library") {
  const PolicyHome fixture;
  const std::string builtin(kBuiltinPlace);
  CHECK_FALSE(ok(fixture.find(builtin)));
  test::write_file(fixture.policy, as_bytes(R"({"stores": [{"place": "/"}], "default": {}})"));
  CHECK_FALSE(ok(fixture.find(builtin)));
  test::write_file(fixture.policy, as_bytes(R"({"stores": [{"place": "builtin:", "minimum_version": 3}]})"));
  const auto found = ok(fixture.find(builtin));
  REQUIRE(found);
  CHECK(found->minimum_version == 3);
  CHECK(found->trusted_keys.empty());
  CHECK_FALSE(ok(fixture.find("/x")));
  for (const char* wrong : {"builtin", "builtin:x", "builtin:/"}) {
    test::write_file(fixture.policy, as_bytes(R"({"stores": [{"place": ")" + std::string(wrong) + R"("}]})"));
    CHECK(fixture.find(builtin).error().code == ErrorCode::invalid_argument);
  }
}

TEST_CASE("a policy that others could have written is an error, and so is a home") {
  const PolicyHome fixture;
  fixture.write(fixture.policy, "/srv/");
  for (const unsigned mode : {0664U, 0646U, 0666U}) {
    fs::permissions(fixture.policy, fs::perms(mode));
    CHECK(fixture.find("/srv/x").error().code == ErrorCode::untrusted);
    CHECK(fixture.find("/srv/x", fixture.policy).error().code == ErrorCode::untrusted);
  }
  fs::permissions(fixture.policy, fs::perms(0644));
  CHECK(ok(fixture.find("/srv/x")));
  fs::permissions(fixture.home, fs::perms(0777));
  CHECK(fixture.find("/srv/x").error().code == ErrorCode::untrusted);
  fs::remove(fixture.policy);
  CHECK(fixture.find("/srv/x").error().code == ErrorCode::untrusted);
}

TEST_CASE("a policy of another user is an error") {
  const PolicyHome fixture;
  fixture.write(fixture.policy, "/srv/");
  if (::geteuid() != 0) return skip("only root gives a file away");
  REQUIRE(::chown(fixture.policy.c_str(), 12345, 12345) == 0);
  CHECK(fixture.find("/srv/x").error().code == ErrorCode::untrusted);
  CHECK(fixture.find("/srv/x", fixture.policy).error().code == ErrorCode::untrusted);
}

TEST_CASE("the policy of a home is no link, and a named one may be") {
  const PolicyHome fixture;
  const auto elsewhere = fixture.folder / "elsewhere.json";
  fixture.write(elsewhere, "/srv/");
  fs::create_symlink(elsewhere, fixture.policy);
  CHECK(fixture.find("/srv/x").error().code == ErrorCode::untrusted);
  CHECK(ok(fixture.find("/srv/x", fixture.policy)));
  fs::permissions(elsewhere, fs::perms(0666));
  CHECK(fixture.find("/srv/x", fixture.policy).error().code == ErrorCode::untrusted);
}

TEST_CASE("a policy that is damaged, too large or no file is an error") {
  const PolicyHome fixture;
  put(fixture.policy, "{");
  CHECK(fixture.find("/x").error().code == ErrorCode::invalid_argument);
  put(fixture.policy, "{}" + std::string(2'000'000, ' '));
  CHECK_FALSE(fixture.find("/x"));
  fs::remove(fixture.policy);
  fs::create_directory(fixture.policy);
  CHECK_FALSE(fixture.find("/x"));
}

TEST_CASE("a link leads neither out of a policy nor around it") {
  const PolicyHome fixture;
  const auto guarded = fixture.folder / "guarded";
  const auto open = fixture.folder / "open";
  fs::create_directory(guarded);
  fs::create_directory(open);
  put(guarded / "a", "");
  put(open / "b", "");
  fs::create_symlink(guarded / "a", open / "to a");
  fs::create_symlink(open / "b", guarded / "to b");
  fixture.write(fixture.policy, guarded.string() + "/");
  CHECK(ok(fixture.find(guarded / "a")));
  CHECK(ok(fixture.find(open / "to a")));
  CHECK(ok(fixture.find(guarded / "to b")));
  CHECK_FALSE(ok(fixture.find(open / "b")));
  CHECK(ok(fixture.find(open / ".." / "guarded" / "a")));
  // A name that resembles a server's does not help either.
  CHECK(ok(fixture.find(open.string() + "/x://../../guarded/a")));
}

TEST_CASE("two dots behind a link lead where the operating system goes") {
  const PolicyHome fixture;
  const auto root = fs::canonical(fixture.folder.path());
  fs::create_directories(root / "guarded/inner");
  fs::create_directory(root / "open");
  put(root / "guarded/a", "");
  fs::create_directory_symlink(root / "guarded/inner", root / "open/in");
  fixture.write(fixture.policy, root.string() + "/guarded/");
  CHECK(ok(fixture.find(root / "open/in/../a")));
  fixture.write(fixture.policy, root.string() + "/open/");
  CHECK_FALSE(ok(fixture.find(root / "open/in/../a")));
  CHECK(ok(fixture.find(root / "open/in/a")));
}

TEST_CASE("a link from one place of the policy into another is an error") {
  const PolicyHome fixture;
  const auto root = fs::canonical(fixture.folder.path());
  fs::create_directory(root / "guarded");
  fs::create_directory(root / "free");
  put(root / "guarded/a", "");
  fs::create_symlink(root / "guarded/a", root / "free/a");
  fs::create_symlink("a", root / "guarded/b");
  put(fixture.policy, R"({"stores":[{"place":")" + root.string() + R"(/guarded/"},{"place":")" +
                          root.string() + R"(/free/","require_signed":false}]})");
  fs::permissions(fixture.policy, fs::perms(0644));
  const auto refused = fixture.find(root / "free/a");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::untrusted);
  CHECK(contains(refused.error().message, (root / "guarded/a").string()));
  CHECK(ok(fixture.find(root / "guarded/b"))->threshold == 1);
  CHECK(ok(fixture.find(root / "free/b"))->threshold == 0);
}

TEST_CASE("a server is known by its canonical form, and what has none is an error") {
  const PolicyHome fixture;
  fixture.write(fixture.policy, "https://host/kernels/");
  for (const char* place : {"https://host/kernels/x", "HTTPS://HOST:443/kernels/x/", "https://host/kernels"})
    CHECK(ok(fixture.find(place)));
  CHECK_FALSE(ok(fixture.find("https://host/other")));
  for (const char* place : {"https://host//kernels/x", "https://host/./kernels/x", "https://host/%6bernels/x",
                            "https://host/a/../kernels", "https://host/kernels#stable", "file:///srv"}) {
    CAPTURE(place);
    const auto found = fixture.find(place);
    REQUIRE_FALSE(found);
    CHECK(found.error().code == ErrorCode::invalid_argument);
  }
}

TEST_CASE("a path whose links cannot be followed is an error") {
  const PolicyHome fixture;
  fixture.write(fixture.policy, "/srv/");
  fs::create_symlink("loop", fixture.folder / "loop");
  CHECK_FALSE(fixture.find(fixture.folder / "loop/x"));
}
