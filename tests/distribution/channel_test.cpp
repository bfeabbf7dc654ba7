// SPDX-License-Identifier: Apache-2.0
#include "served_bundle.hpp"

#include <cubinet/distribution/channel.hpp>
#include <cubinet/distribution/folder_server.hpp>

using namespace cubinet;
using test::ok;

namespace {

struct ServedChannel {
  Channel channel(std::optional<TrustPolicy> policy = {}, const std::string& suffix = "#stable") const {
    return Channel({ok(ServerReference::parse("https://files.example/kernels" + suffix)), served.server, home,
                    std::move(policy)});
  }
  KnownChannel known() const { return ok(channel().known()); }
  void pin(const Sha256Digest& manifest) const {
    ok(home->downloads().change(channel().place(), [&](KnownChannel& each) { each.pinned = manifest; }));
  }
  TrustPolicy policy_of(const SecretKey& key) const {
    TrustPolicy policy;
    policy.trusted_keys = {key.public_key()};
    policy.versions_seen = (folder / "seen").string();
    return policy;
  }

  test::TempDir folder;
  test::ServedBundle served{open_folder_server(posix_file_system(), folder / "served")};
  std::shared_ptr<Home> home = served.home();
};

}  // namespace

TEST_CASE("a reference means its own manifest, then the pinned one, then what the server names") {
  const ServedChannel fixture;
  const Sha256Digest first = fixture.served.push(1);
  const Sha256Digest second = fixture.served.push(2);
  CHECK(ok(fixture.channel().current()).digest == second);
  CHECK_FALSE(ok(fixture.channel().current()).pinned);
  fixture.pin(first);
  CHECK(ok(fixture.channel().current()).digest == first);
  CHECK(ok(fixture.channel().current()).pinned);
  CHECK(ok(fixture.channel().newest()).digest == second);
  const Channel manifest = fixture.channel({}, "@sha256:" + second.to_hex());
  CHECK(ok(manifest.current()).digest == second);
  CHECK(fixture.channel({}, "#absent").current().error().code == ErrorCode::not_found);
}

TEST_CASE("a pinned manifest may be older than a version that was seen, and is opened no less signed") {
  const ServedChannel fixture;
  const SecretKey key = ok(SecretKey::generate());
  const Channel channel = fixture.channel(fixture.policy_of(key));
  const Sha256Digest older = fixture.served.push(6, 3, &key);
  const Sha256Digest unsigned_one = fixture.served.push(5);
  const Sha256Digest newer = fixture.served.push(7, 3, &key);
  CHECK(ok(channel.open({newer})).bundle->root().options.version == 7);
  CHECK(channel.open({older}).error().code == ErrorCode::untrusted);
  CHECK(ok(channel.open({older, true})).bundle->root().options.version == 6);
  CHECK(channel.open({unsigned_one, true}).error().code == ErrorCode::untrusted);
}

TEST_CASE(
    "a policy that requires signatures takes bundles of the channel that was asked for, and no others") {
  const ServedChannel fixture;
  const SecretKey key = ok(SecretKey::generate());
  const Sha256Digest manifest = fixture.served.push(6, 3, &key);
  const TrustPolicy policy = fixture.policy_of(key);
  const auto refused = fixture.channel(policy, "#nightly").open({manifest});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::untrusted);
  CHECK(refused.error().message.find("is of the channel 'stable', and 'nightly' was asked for") !=
        std::string::npos);
  CHECK(refused.error().remedy.find("@sha256:") != std::string::npos);
  CHECK_FALSE(fixture.channel(policy, "#nightly").open({manifest, true}));
  CHECK_FALSE(std::filesystem::exists(fixture.folder / "seen"));
  ok(fixture.channel(policy).open({manifest}));
  ok(fixture.channel(policy, "@sha256:" + manifest.to_hex()).open({manifest}));
  ok(fixture.channel({}, "#nightly").open({manifest}));
  TrustPolicy any;
  any.threshold = 0;
  ok(fixture.channel(any, "#nightly").open({manifest}));
}

TEST_CASE("a refused older version names its pin, and a pinned one that fails names the pin") {
  const ServedChannel fixture;
  const SecretKey key = ok(SecretKey::generate());
  const Channel channel = fixture.channel(fixture.policy_of(key));
  const Sha256Digest older = fixture.served.push(6, 3, &key);
  ok(channel.open({fixture.served.push(7, 3, &key)}));
  const auto refused = channel.open({older});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().remedy.find("`pin_channel()` with `PinOptions::manifest` sha256:" + older.to_hex()) !=
        std::string::npos);
  const auto unsigned_one = channel.open({fixture.served.push(5)});
  REQUIRE_FALSE(unsigned_one);
  CHECK(unsigned_one.error().remedy.find("pin_channel") == std::string::npos);
  const auto absent = channel.open({Sha256Digest{}, true});
  REQUIRE_FALSE(absent);
  CHECK(absent.error().message.find("is pinned to sha256:0000") != std::string::npos);
  CHECK(absent.error().remedy.find("`unpin_channel()`") != std::string::npos);
}

TEST_CASE("a root is read also of an expired bundle, and its version is not remembered") {
  const ServedChannel fixture;
  const SecretKey key = ok(SecretKey::generate());
  const Channel channel = fixture.channel(fixture.policy_of(key));
  BundleOptions expired;
  expired.expires = 2;
  const Sha256Digest newer = fixture.served.push(8, 3, &key, expired);
  const Sha256Digest older = fixture.served.push(7, 3, &key);
  CHECK(ok(channel.root({newer})).options.version == 8);
  CHECK(channel.open({newer}).error().code == ErrorCode::untrusted);
  CHECK(ok(channel.open({older})).bundle->root().options.version == 7);
}

TEST_CASE("a bundle is opened while its pack is not there") {
  const ServedChannel fixture;
  const Sha256Digest manifest = fixture.served.push(7);
  const RemoteBundle remote = ok(read_remote_bundle(*fixture.served.server, manifest));
  std::filesystem::remove(fixture.folder / ("served/blobs/sha256/" + remote.pack.digest.to_hex()));
  CHECK(ok(fixture.channel().open({manifest})).bundle->root().options.version == 7);
  TrustPolicy policy;
  policy.trusted_keys = {ok(SecretKey::generate()).public_key()};
  CHECK(fixture.channel(policy).open({manifest}).error().code == ErrorCode::untrusted);
}

TEST_CASE("only a manifest that the server named is remembered, and only in a home that can be written") {
  const ServedChannel fixture;
  const Sha256Digest first = fixture.served.push(1);
  const Sha256Digest second = fixture.served.push(2);
  fixture.channel().remember({first, true});
  fixture.channel({}, "@sha256:" + first.to_hex()).remember({first});
  CHECK_FALSE(fixture.known().manifest);
  fixture.channel().remember({first});
  fixture.channel().remember({second});
  CHECK(fixture.known().manifest == second);
  CHECK(fixture.known().before == first);
  const auto read_only = fixture.served.home(HomeOptions::Access::read_only);
  Channel({ok(ServerReference::parse(fixture.channel().place())), fixture.served.server, read_only})
      .remember({first});
  CHECK(fixture.known().manifest == second);
}
