// SPDX-License-Identifier: Apache-2.0
#include "signing.hpp"
#include "support/temp_dir.hpp"
#include "support/text.hpp"

#include <cubinet/trust/verification.hpp>

#include <chrono>
#include <filesystem>

using namespace cubinet;
using namespace cubinet::test;

namespace {

// A signed file and the policy for it.
struct SignedFile {
  TempDir folder;
  std::filesystem::path path = folder / "file";
  std::shared_ptr<FileSystem> files = posix_file_system();
  TrustPolicy policy;

  explicit SignedFile(std::string_view text = "what is signed") { put(path, text); }

  void trust(const SecretKey& key) { policy.trusted_keys.push_back(key.public_key()); }
  Result<SignatureReport> verify() const {
    const std::string text = text_of(path);
    return verify_signatures(policy, "'file'", as_bytes(text), signatures_beside(files, path));
  }
};

void check_refused(const Result<SignatureReport>& report, std::string_view part) {
  REQUIRE_FALSE(report);
  CHECK(report.error().code == ErrorCode::untrusted);
  CAPTURE(report.error().message);
  CHECK(contains(report.error().message, part));
}

}  // namespace

TEST_CASE("a policy that was made without a word takes nothing") {
  const SignedFile file;
  check_refused(file.verify(), "trusts no key");
}

TEST_CASE("a policy that wants no signature takes what is not signed") {
  SignedFile file;
  file.policy.threshold = 0;
  CHECK(ok(file.verify()).signers.empty());
}

TEST_CASE("a trusted key that has signed is named with its comment") {
  SignedFile file;
  const SecretKey key = new_key();
  file.trust(key);
  check_refused(file.verify(), "key " + key.public_key().id() + ": has not signed it");
  sign_file(file.path, key, "release 7");
  const SignatureReport report = ok(file.verify());
  REQUIRE(report.signers.size() == 1);
  CHECK(report.signers[0].key == key.public_key());
  CHECK(report.signers[0].comment == "release 7");
  CHECK(report.refused.empty());
}

TEST_CASE("what minisign signs beside a file counts") {
  if (!has_minisign()) return;
  SignedFile file;
  const SecretKey key = new_key();
  file.trust(key);
  REQUIRE(write_secret_file(file.folder / "key", ok(key.to_file(nullptr))));
  REQUIRE(minisign({"-S", "-W", "-s", file.folder / "key", "-m", file.path, "-x",
                    signature_path(file.path, key.public_key().id())}));
  CHECK(ok(file.verify()).signers.size() == 1);
}

TEST_CASE("a signature that cannot be read is told as that, and not as one that is missing") {
  SignedFile file;
  const SecretKey key = new_key();
  file.trust(key);
  std::filesystem::create_directories(signature_path(file.path, key.public_key().id()));
  const auto verified = file.verify();
  REQUIRE_FALSE(verified);
  CHECK(verified.error().code != ErrorCode::untrusted);
}

TEST_CASE("a key that nobody trusts does not count, and its file is not asked for") {
  SignedFile file;
  const SecretKey trusted = new_key();
  const SecretKey stranger = new_key();
  file.trust(trusted);
  sign_file(file.path, stranger);
  std::vector<std::string> asked;
  const SignatureSource source = [&](const std::string& id) -> Result<std::optional<Bytes>> {
    asked.push_back(id);
    return std::optional<Bytes>();
  };
  CHECK_FALSE(verify_signatures(file.policy, "it", {}, source));
  CHECK(asked == std::vector<std::string>{trusted.public_key().id()});
  // Stores the stranger's signature under the trusted key's name.
  std::filesystem::copy(signature_path(file.path, stranger.public_key().id()),
                        signature_path(file.path, trusted.public_key().id()));
  check_refused(file.verify(), "is of key " + stranger.public_key().id());
}

TEST_CASE("a threshold counts distinct keys, not ids and not files") {
  SignedFile file;
  const SecretKey one = new_key();
  const SecretKey two = new_key();
  file.trust(one);
  file.trust(two);
  file.policy.threshold = 2;
  sign_file(file.path, one);
  check_refused(file.verify(), "signed by 1 of the 2 trusted keys");
  // Signs with one secret under the second key's id, which writes its file but not its signature.
  sign_file(file.path, renamed(one, two.public_key().id_bytes()));
  check_refused(file.verify(), "signed by 1 of the 2 trusted keys");
  sign_file(file.path, two);
  CHECK(ok(file.verify()).signers.size() == 2);
}

TEST_CASE("a key that is listed twice, under two ids and with two files, counts once") {
  SignedFile file;
  const SecretKey one = new_key();
  const SecretKey again = renamed(one, {});
  file.trust(one);
  file.trust(again);
  file.trust(one);
  sign_file(file.path, one);
  sign_file(file.path, again);
  CHECK(ok(file.verify()).signers.size() == 1);
  file.policy.threshold = 2;
  CHECK(file.verify().error().code == ErrorCode::invalid_argument);
  file.trust(new_key());
  check_refused(file.verify(), "signed by 1 of the 2");
}

TEST_CASE("two keys of one id are told apart") {
  SignedFile file;
  const SecretKey one = new_key();
  const SecretKey other = renamed(new_key(), one.public_key().id_bytes());
  REQUIRE(one.public_key().id() == other.public_key().id());
  file.trust(one);
  file.trust(other);
  sign_file(file.path, other);
  const SignatureReport report = ok(file.verify());
  REQUIRE(report.signers.size() == 1);
  CHECK(report.signers[0].key == other.public_key());
  file.policy.threshold = 2;
  check_refused(file.verify(), "signed by 1 of the 2");
}

TEST_CASE("every flipped bit of what is signed and a signature of other bytes are refused") {
  SignedFile file;
  const SecretKey key = new_key();
  file.trust(key);
  sign_file(file.path, key);
  const std::string text = text_of(file.path);
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string other = text;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << bit % 8));
    put(file.path, other);
    check_refused(file.verify(), "is not this key's over these bytes");
  }
  put(file.path, text);
  CHECK(file.verify());
  // Combines the root of one release with the signature of another.
  SignedFile newer("what is signed later");
  sign_file(newer.path, key);
  std::filesystem::copy(signature_path(newer.path, key.public_key().id()),
                        signature_path(file.path, key.public_key().id()),
                        std::filesystem::copy_options::overwrite_existing);
  check_refused(file.verify(), "is not this key's over these bytes");
}

TEST_CASE("a damaged signature does not take away what another key has signed") {
  SignedFile file;
  const SecretKey one = new_key();
  const SecretKey two = new_key();
  file.trust(one);
  file.trust(two);
  sign_file(file.path, one);
  put(signature_path(file.path, two.public_key().id()), "rubbish");
  const SignatureReport report = ok(file.verify());
  CHECK(report.signers.size() == 1);
  REQUIRE(report.refused.size() == 1);
  CHECK(contains(report.refused[0], "no signature of minisign's"));
}

TEST_CASE("a signature file that is no small regular one is an error") {
  SignedFile file;
  const SecretKey key = new_key();
  file.trust(key);
  const auto beside = signature_path(file.path, key.public_key().id());
  put(beside, std::string(kMaximumSignatureBytes + 1, 'x'));
  CHECK_FALSE(file.verify());
  std::filesystem::remove(beside);
  std::filesystem::create_directory(beside);
  CHECK_FALSE(file.verify());
}

TEST_CASE("a policy that cannot be met is an error") {
  SignedFile file;
  const SecretKey key = new_key();
  file.trust(key);
  sign_file(file.path, key);
  file.policy.origin = "somewhere";
  file.policy.threshold = 0;
  CHECK(file.verify().error().code == ErrorCode::invalid_argument);
  file.policy.threshold = 2;
  CHECK(file.verify().error().code == ErrorCode::invalid_argument);
  CHECK(contains(file.verify().error().message, "somewhere"));
  file.policy.threshold = 1;
  for (int i = 0; i < 64; ++i)
    file.trust(key);
  CHECK(file.verify().error().code == ErrorCode::invalid_argument);
}

namespace {

// A node that receives releases of a channel.
struct Node {
  TempDir folder;
  std::shared_ptr<FileSystem> files = posix_file_system();
  TrustPolicy policy;
  std::vector<std::string> log;
  bool remembers = true;

  Node() { policy.versions_seen = folder / "seen"; }
  Result<void> admit(std::uint64_t version, const std::vector<const SecretKey*>& keys,
                     const std::string& channel = "fleet", std::uint64_t expires = 0,
                     Expiry expiry = Expiry::enforced) {
    std::vector<Signer> signers;
    for (const SecretKey* key : keys)
      signers.push_back({key->public_key(), ""});
    return cubinet::admit(
        policy, "'file'", {channel, version, expires}, signers, *files, expiry, 1'000'000,
        [this](const LogRecord& record) { log.emplace_back(record.message); }, remembers);
  }
};

}  // namespace

TEST_CASE("what is older than the newest version seen is refused, with both named") {
  Node node;
  const SecretKey key = new_key();
  node.policy.trusted_keys = {key.public_key()};
  CHECK(node.admit(7, {&key}));
  CHECK(node.admit(7, {&key}));
  CHECK(node.admit(9, {&key}));
  const auto older = node.admit(8, {&key});
  REQUIRE_FALSE(older);
  CHECK(older.error().code == ErrorCode::untrusted);
  CHECK(contains(older.error().message, "version 8 of 'fleet'"));
  CHECK(contains(older.error().message, "version 9, signed by key " + key.public_key().id()));
  CHECK(node.admit(1, {&key}, "another channel"));
  node.policy.refuse_older = false;
  CHECK(node.admit(8, {&key}));
  node.policy.refuse_older = true;
  CHECK_FALSE(node.admit(8, {&key}));
  node.policy.versions_seen.clear();
  CHECK(node.admit(8, {&key}));
}

TEST_CASE("who only looks remembers no version, and is refused what is older all the same") {
  Node node;
  const SecretKey key = new_key();
  node.policy.trusted_keys = {key.public_key()};
  CHECK(node.admit(7, {&key}));
  node.remembers = false;
  CHECK(node.admit(9, {&key}));
  CHECK_FALSE(node.admit(6, {&key}));
  node.remembers = true;
  CHECK(node.admit(8, {&key}));
}

TEST_CASE("an old release is old also when one of its signatures is taken away") {
  Node node;
  const SecretKey one = new_key();
  const SecretKey two = new_key();
  node.policy.trusted_keys = {one.public_key(), two.public_key()};
  REQUIRE(node.admit(5, {&one, &two}));
  REQUIRE(node.admit(10, {&one}));
  CHECK_FALSE(node.admit(5, {&two}));
}

TEST_CASE("a version that a stolen key has signed is forgotten with the key") {
  Node node;
  const SecretKey stolen = new_key();
  const SecretKey kept = new_key();
  const SecretKey next = new_key();
  node.policy.trusted_keys = {stolen.public_key(), kept.public_key()};
  REQUIRE(node.admit(10, {&stolen, &kept}));
  REQUIRE(node.admit(UINT64_MAX, {&stolen}));
  CHECK_FALSE(node.admit(11, {&kept}));
  node.policy.trusted_keys = {kept.public_key(), next.public_key()};
  CHECK(node.admit(11, {&kept, &next}));
  CHECK_FALSE(node.admit(9, {&kept}));
}

TEST_CASE("a least version holds where nothing was seen") {
  Node node;
  const SecretKey key = new_key();
  node.policy.trusted_keys = {key.public_key()};
  node.policy.minimum_version = 5;
  const auto below = node.admit(4, {&key});
  REQUIRE_FALSE(below);
  CHECK(contains(below.error().message, "version 4 of 'fleet', below the least that is taken, 5"));
  CHECK(node.admit(5, {&key}));
}

TEST_CASE("what has expired is refused or told, and told is remembered") {
  Node node;
  const SecretKey key = new_key();
  node.policy.trusted_keys = {key.public_key()};
  CHECK(node.admit(1, {&key}, "fleet", 1'000'001));
  CHECK(node.log.empty());
  const auto late = node.admit(2, {&key}, "fleet", 1'000'000);
  REQUIRE_FALSE(late);
  CHECK(late.error().code == ErrorCode::untrusted);
  CHECK(contains(late.error().message, "has expired"));
  CHECK(node.admit(1, {&key}, "fleet", 1'000'001));  // the rejected one was not stored
  CHECK(node.admit(2, {&key}, "fleet", 1'000'000, Expiry::reported));
  REQUIRE(node.log.size() == 1);
  CHECK(contains(node.log[0], "has expired"));
  CHECK_FALSE(node.admit(1, {&key}));
}

TEST_CASE("a version that cannot be remembered is told") {
  Node node;
  const SecretKey key = new_key();
  node.policy.trusted_keys = {key.public_key()};
  put(node.folder / "file", "");
  node.policy.versions_seen = node.folder / "file/seen";
  const auto admitted = node.admit(1, {&key});
  // An unreadable folder is different: the versions seen are then unknown.
  if (admitted) {
    REQUIRE(node.log.size() == 1);
    CHECK(contains(node.log[0], "not remembered"));
  }
  std::filesystem::create_directory(node.folder / "seen");
  node.policy.versions_seen = node.folder / "seen";
  std::filesystem::permissions(node.folder / "seen", std::filesystem::perms(0777));
  const auto open_to_all = node.admit(1, {&key});
  REQUIRE_FALSE(open_to_all);
  CHECK(open_to_all.error().code == ErrorCode::untrusted);
}
