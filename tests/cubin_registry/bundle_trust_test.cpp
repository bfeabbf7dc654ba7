// SPDX-License-Identifier: Apache-2.0
#include "cubin_registry/bundle_fixture.hpp"
#include "support/counted.hpp"
#include "support/ok.hpp"
#include "support/sampled.hpp"
#include "support/text.hpp"

#include <cubinet/trust/secret_key.hpp>
#include <cubinet/trust/signature.hpp>

namespace cubinet::test {
namespace {

struct SignedFixture : BundleFixture {
  SecretKey key = ok(SecretKey::generate());
  TrustPolicy policy;

  explicit SignedFixture(BundleOptions options = {"test", 3}) {
    create({cubin_of(1), cubin_of(2)}, std::move(options));
    policy.trusted_keys = {key.public_key()};
    policy.versions_seen = folder / "seen";
    sign_root(key);
  }
  std::filesystem::path signature() const { return signature_path(path, key.public_key().id()); }
  void sign_root(const SecretKey& signer) {
    const auto bundle = open();
    const auto made = ok(sign(signer, bundle->root_bytes(), "comment"));
    write_file(signature_path(path, signer.public_key().id()), as_bytes(made.to_file()));
  }
  Result<std::shared_ptr<Bundle>> open_trusted() { return Bundle::open(path, files, {}, policy); }
};

void check_untrusted(const Result<std::shared_ptr<Bundle>>& bundle) {
  REQUIRE_FALSE(bundle);
  CHECK(bundle.error().code == ErrorCode::untrusted);
}

}  // namespace

TEST_CASE("a bundle that trusted keys have signed opens and says who they are") {
  SignedFixture fixture;
  const auto bundle = ok(fixture.open_trusted());
  REQUIRE(bundle->signers().size() == 1);
  CHECK(bundle->signers()[0].key == fixture.key.public_key());
  CHECK(bundle->signers()[0].comment == "comment");
  REQUIRE(bundle->policy());
  CHECK(bundle->list()->size() == 2);
  CHECK(fixture.open()->signers().empty());
  CHECK_FALSE(fixture.open()->policy());
}

TEST_CASE("every flipped bit and every truncation of a signed root is refused before it is looked into") {
  SignedFixture fixture;
  const Bytes whole = read_file(fixture.path);
  const std::size_t root = fixture.open()->root_bytes().size();
  constexpr std::size_t kHead = 12;  // magic, version, profile and length: what finds the root
  std::size_t mutants = 0;
  for (const std::size_t i : test::sampled(root, 1)) {
    for (const std::byte change : test::changes(i, 8)) {
      Bytes other = whole;
      other[i] ^= change;
      write_file(fixture.path, other);
      const auto opened = fixture.open_trusted();
      REQUIRE_FALSE(opened);
      if (i >= kHead) CHECK(opened.error().code == ErrorCode::untrusted);
      ++mutants;
    }
  }
  for (const std::size_t length : test::sampled(root, 7)) {
    write_file(fixture.path, ByteView(whole).first(length));
    CHECK_FALSE(fixture.open_trusted());
    ++mutants;
  }
  test::counted(mutants, "mutants");
  write_file(fixture.path, whole);
  CHECK(fixture.open_trusted());
}

TEST_CASE("a root of one release with the signature of another is refused, and so is a stranger") {
  SignedFixture fixture;
  const Bytes signature = read_file(fixture.signature());
  fixture.create({cubin_of(1), cubin_of(3)}, {"test", 4});
  check_untrusted(fixture.open_trusted());
  const SecretKey stranger = ok(SecretKey::generate());
  fixture.sign_root(stranger);
  check_untrusted(fixture.open_trusted());
  fixture.sign_root(fixture.key);
  CHECK(fixture.open_trusted());
  std::filesystem::remove(fixture.signature());
  check_untrusted(fixture.open_trusted());
  CHECK(fixture.open());
}

TEST_CASE("an image that was exchanged behind a signed root is never given out") {
  SignedFixture fixture;
  const auto bundle = ok(fixture.open_trusted());
  Bytes other = read_file(fixture.path);
  other[other.size() - 65] ^= std::byte{1};
  write_file(fixture.path, other);
  CHECK(fixture.open_trusted());  // the root is right
  std::size_t given = 0;
  const CubinRecords records = ok(bundle->list());
  for (const auto& record : records) {
    if (const auto loaded = bundle->load(record); loaded && *loaded) ++given;
  }
  CHECK(given == 1);
}

TEST_CASE("an older bundle is refused once a newer one was opened, also through another object") {
  SignedFixture fixture;
  const Bytes old_bundle = read_file(fixture.path);
  const Bytes old_signature = read_file(fixture.signature());
  fixture.create({cubin_of(1)}, {"test", 4});
  fixture.sign_root(fixture.key);
  CHECK(fixture.open_trusted());
  write_file(fixture.path, old_bundle);
  write_file(fixture.signature(), old_signature);
  const auto older = fixture.open_trusted();
  check_untrusted(older);
  CHECK(contains(older.error().message, "version 3 of 'test'"));
  CHECK(contains(older.error().message, "version 4"));
}

TEST_CASE("what is refused is not remembered") {
  SignedFixture fixture;
  const SecretKey stranger = ok(SecretKey::generate());
  fixture.create({cubin_of(1)}, {"test", 99});
  fixture.sign_root(stranger);
  check_untrusted(fixture.open_trusted());
  fixture.create({cubin_of(1)}, {"test", 3});
  fixture.sign_root(fixture.key);
  CHECK(fixture.open_trusted());
}

TEST_CASE("an expired bundle opens from a file and not from a server") {
  BundleOptions options{"test", 3};
  options.expires = 1'000'000'000;
  SignedFixture fixture(options);
  LogLines log;
  CHECK(Bundle::open(fixture.path, fixture.files, log.sink(), fixture.policy));
  CHECK(log.count("has expired") == 1);
  BundleTrust trust;
  trust.policy = fixture.policy;
  trust.signatures = signatures_beside(fixture.files, fixture.path);
  trust.expiry = Expiry::enforced;
  check_untrusted(open_bundle(std::make_shared<MemorySource>(read_file(fixture.path)), {}, trust));
}

TEST_CASE("a signed root is read once") {
  SignedFixture fixture;
  const auto source = std::make_shared<MemorySource>(read_file(fixture.path));
  BundleTrust trust;
  trust.policy = fixture.policy;
  trust.signatures = signatures_beside(fixture.files, fixture.path);
  CHECK(open_bundle(source, {}, trust));
  CHECK(source->take_reads().size() == 1);
}

}  // namespace cubinet::test
