// SPDX-License-Identifier: Apache-2.0
#include "channel_bundle.hpp"

#include "served_bundle.hpp"
#include "support/text.hpp"

#include <cubinet/cubin_registry/downloads.hpp>
#include <cubinet/distribution/folder_server.hpp>

using namespace cubinet;
using namespace std::chrono_literals;
using test::contains;
using test::ok;
using test::version_of;

namespace {

struct ChannelFixture {
  ServerStoreOptions options() const {
    ServerStoreOptions made = served.options();
    made.log = [this](const LogRecord& record) { log += std::string(record.message) + "\n"; };
    return made;
  }
  std::uint64_t version(const ServerStoreOptions& options) const {
    return version_of(*ok(open_server_store(options)));
  }
  KnownChannel known() const {
    return ok(served.home()->downloads().channel("https://files.example/kernels#stable"));
  }
  void pin(const std::optional<Sha256Digest>& manifest) const {
    ok(served.home()->downloads().change("https://files.example/kernels#stable",
                                         [&](KnownChannel& known) { known.pinned = manifest; }));
  }
  void lose() const { std::filesystem::remove_all(folder / "served"); }
  TrustPolicy policy_of(const SecretKey& key) const {
    TrustPolicy policy;
    policy.trusted_keys = {key.public_key()};
    policy.versions_seen = (folder / "seen").string();
    return policy;
  }

  test::TempDir folder;
  test::ServedBundle served{open_folder_server(posix_file_system(), folder / "served")};
  mutable std::string log;
};

}  // namespace

TEST_CASE("a channel is taken as it was for as long as that is fresh, and then asked again") {
  const ChannelFixture fixture;
  const Sha256Digest first = fixture.served.push(1);
  ServerStoreOptions options = fixture.options();
  CHECK(fixture.version(options) == 1);
  const Sha256Digest second = fixture.served.push(2);
  CHECK(fixture.version(options) == 1);
  options.fresh = 0s;
  CHECK(fixture.version(options) == 2);
  CHECK(fixture.known().manifest == second);
  CHECK(fixture.known().before == first);
}

TEST_CASE(
    "a channel that has gone back is followed with a warning, unless the policy refuses the older version") {
  const ChannelFixture fixture;
  const SecretKey key = ok(SecretKey::generate());
  ServerStoreOptions options = fixture.options();
  options.fresh = 0s;
  fixture.served.push(3, 3, &key);
  CHECK(fixture.version(options) == 3);
  fixture.served.push(1, 3, &key);
  options.policy = fixture.policy_of(key);
  ok(Channel({options.reference, fixture.served.server, nullptr, options.policy})
         .open({*fixture.known().manifest}));
  CHECK(fixture.version(options) == 3);
  CHECK(contains(fixture.log, "`pin_channel()`"));
  options.policy = std::nullopt;
  CHECK(fixture.version(options) == 1);
  CHECK(contains(fixture.log, "has gone back: it names version 1 now, and named version 3 before"));
}

TEST_CASE("a server that is gone leaves the bundle that was used before") {
  const ChannelFixture fixture;
  fixture.served.push(1);
  ServerStoreOptions options = fixture.options();
  options.fresh = 0s;
  CHECK(fixture.version(options) == 1);
  fixture.lose();
  CHECK(fixture.version(options) == 1);
  CHECK(contains(fixture.log, "the kept version is used"));
}

TEST_CASE("offline, what is kept answers, and where nothing is kept it is unavailable") {
  const ChannelFixture fixture;
  fixture.served.push(1);
  ServerStoreOptions options = fixture.options();
  options.offline = true;
  CHECK(ok(open_server_store(options))->list().error().code == ErrorCode::unavailable);
  options.offline = false;
  CHECK(fixture.version(options) == 1);
  options.offline = true;
  options.fresh = 0s;
  fixture.lose();
  CHECK(fixture.version(options) == 1);
}

TEST_CASE("an older version than was seen is not taken from a channel, and the newer one stays in use") {
  const ChannelFixture fixture;
  const SecretKey key = ok(SecretKey::generate());
  ServerStoreOptions options = fixture.options();
  options.policy = fixture.policy_of(key);
  options.fresh = 0s;
  fixture.served.push(7, 3, &key);
  CHECK(fixture.version(options) == 7);
  fixture.served.push(6, 3, &key);
  CHECK(fixture.version(options) == 7);
  CHECK(contains(fixture.log, "was seen here before"));
  fixture.served.push(8);
  CHECK(fixture.version(options) == 7);
  CHECK(contains(fixture.log, "0 of the 1 trusted keys"));
}

TEST_CASE("the store of a server prefers its builds while its channel is pinned") {
  const ChannelFixture fixture;
  const Sha256Digest first = fixture.served.push(1);
  fixture.served.push(2);
  ServerStoreOptions options = fixture.options();
  options.fresh = 0s;
  const auto prefers = [&] {
    const auto store = ok(open_server_store(options));
    return store->prefers(*ok(store->list()).at(0));
  };
  CHECK_FALSE(prefers());
  fixture.pin(first);
  CHECK(prefers());
  fixture.pin(std::nullopt);
  CHECK_FALSE(prefers());
}

TEST_CASE("a manifest that is pinned is used though it is older, and never though it is less signed") {
  const ChannelFixture fixture;
  const SecretKey key = ok(SecretKey::generate());
  ServerStoreOptions options = fixture.options();
  options.policy = fixture.policy_of(key);
  options.fresh = 0s;
  const Sha256Digest good = fixture.served.push(6, 3, &key);
  const Sha256Digest unsigned_one = fixture.served.push(5);
  fixture.served.push(7, 3, &key);
  CHECK(fixture.version(options) == 7);
  fixture.pin(good);
  CHECK(fixture.version(options) == 6);
  fixture.pin(unsigned_one);
  CHECK(ok(open_server_store(options))->list().error().code == ErrorCode::untrusted);
  fixture.pin({});
  CHECK(fixture.version(options) == 7);
}

TEST_CASE("a bundle that has expired is refused where a newer one could be asked for, and told offline") {
  const ChannelFixture fixture;
  const SecretKey key = ok(SecretKey::generate());
  ServerStoreOptions options = fixture.options();
  BundleOptions expired;
  expired.expires = 2;
  fixture.served.push(1, 3, &key, expired);
  CHECK(fixture.version(options) == 1);
  options.policy = fixture.policy_of(key);
  CHECK(ok(open_server_store(options))->list().error().code == ErrorCode::untrusted);
  options.offline = true;
  CHECK(fixture.version(options) == 1);
  CHECK(contains(fixture.log, "has expired"));
}

TEST_CASE("a manifest by its digest asks for no channel") {
  const ChannelFixture fixture;
  const Sha256Digest first = fixture.served.push(1);
  fixture.served.push(2);
  ServerStoreOptions options = fixture.options();
  options.reference = ok(ServerReference::parse("https://files.example/kernels@sha256:" + first.to_hex()));
  CHECK(fixture.version(options) == 1);
  for (const KnownChannel& known : ok(fixture.served.home()->downloads().channels()))
    CHECK_FALSE(known.manifest);
  options.reference = ok(ServerReference::parse("https://files.example/kernels"));
  CHECK(open_server_store(options).error().code == ErrorCode::invalid_argument);
}
