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
