// SPDX-License-Identifier: Apache-2.0
#include "signing.hpp"
#include "support/temp_dir.hpp"
#include "support/text.hpp"

#include <cubinet/trust/key_set.hpp>

#include <filesystem>

using namespace cubinet;
using namespace cubinet::test;

namespace {

using Signers = std::vector<const SecretKey*>;

std::string set_text(std::uint64_t version, std::uint32_t threshold, const Signers& keys) {
  std::string list;
  for (const SecretKey* key : keys)
    list += (list.empty() ? "\"" : ", \"") + key->public_key().to_string() + "\"";
  return "{\"type\": \"cubinet key set\", \"version\": " + std::to_string(version) +
         ", \"threshold\": " + std::to_string(threshold) + ", \"keys\": [" + list + "]}\n";
}

struct KeyHome {
  TempDir folder;
  std::filesystem::path home = folder / "home";
  std::shared_ptr<FileSystem> files = posix_file_system();

  Result<KeySet> update(const std::string& text, const Signers& signers, KeySetTurn turn = KeySetTurn::next) {
    const auto path = folder / "set.json";
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      if (entry.is_regular_file()) std::filesystem::remove(entry.path());
    }
    put(path, text);
    for (const SecretKey* key : signers)
      sign_file(path, *key);
    return update_key_set(*files, home, "'set.json'", as_bytes(text), signatures_beside(files, path), turn);
  }
  std::uint64_t version() const {
    const auto set = ok(read_key_set(*files, home));
    return set ? set->version : 0;
  }
};

void check_refused(const Result<KeySet>& set, std::string_view part) {
  REQUIRE_FALSE(set);
  CHECK(set.error().code == ErrorCode::untrusted);
  CAPTURE(set.error().message);
  CHECK(contains(set.error().message, part));
}

}  // namespace

TEST_CASE("a key set says type, version, threshold and keys, and nothing else") {
  const SecretKey key = new_key();
  const KeySet set = ok(parse_key_set(set_text(3, 1, {&key})));
  CHECK(set.version == 3);
  CHECK(set.threshold == 1);
  CHECK(set.keys == std::vector<PublicKey>{key.public_key()});
  const std::string good = set_text(3, 1, {&key});
  for (std::size_t length = 0; length + 2 < good.size(); ++length)
    CHECK_FALSE(parse_key_set(std::string_view(good).substr(0, length)));
  CHECK_FALSE(parse_key_set(set_text(0, 1, {&key})));
  CHECK_FALSE(parse_key_set(set_text(1, 0, {&key})));
  CHECK_FALSE(parse_key_set(set_text(1, 2, {&key})));
  CHECK_FALSE(parse_key_set(set_text(1, 1, {})));
  CHECK_FALSE(parse_key_set(set_text(UINT64_MAX, 1, {&key})));
  std::string other = good;
  CHECK_FALSE(parse_key_set(other.replace(other.find("cubinet key set"), 7, "another")));
  other = good;
  CHECK_FALSE(parse_key_set(other.insert(1, "\"expires\": 5, ")));
}

TEST_CASE("a home takes a first set when it is told to, and the next ones by their signatures") {
  KeyHome home;
  const SecretKey a = new_key();
  const SecretKey b = new_key();
  const SecretKey c = new_key();
  const std::string first = set_text(4, 2, {&a, &b});
  CHECK(home.update(first, {&a, &b}).error().code == ErrorCode::not_found);
  check_refused(home.update(first, {&a}, KeySetTurn::first), "its own keys");
  CHECK(home.version() == 0);
  CHECK(ok(home.update(first, {&a, &b}, KeySetTurn::first)).version == 4);
  CHECK(home.version() == 4);
  CHECK(home.update(first, {&a, &b}));
  CHECK(home.update(first, {}, KeySetTurn::first));
  const std::string second = set_text(5, 2, {&b, &c});
  CHECK(home.update(second, {&a, &b, &c}, KeySetTurn::first).error().code == ErrorCode::invalid_argument);
  check_refused(home.update(second, {&b, &c}), "the home's key set 4");  // one of the old keys
  check_refused(home.update(second, {&a, &b}), "its own keys");          // one of the new keys
  check_refused(home.update(second, {}), "the home's key set 4");
  CHECK(home.version() == 4);
  CHECK(home.update(second, {&a, &b, &c}));
  CHECK(home.version() == 5);
}

TEST_CASE("a set that does not follow the one that is there is refused") {
  KeyHome home;
  const SecretKey a = new_key();
  REQUIRE(home.update(set_text(4, 1, {&a}), {&a}, KeySetTurn::first));
  check_refused(home.update(set_text(6, 1, {&a}), {&a}), "key set 6, and the home's is 4");
  check_refused(home.update(set_text(3, 1, {&a}), {&a}), "key set 3, and the home's is 4");
  const SecretKey b = new_key();
  check_refused(home.update(set_text(4, 1, {&a, &b}), {&a, &b}), "key set 4, and the home's is 4");
  CHECK(home.version() == 4);
}

TEST_CASE("a key that was replaced cannot bring itself back") {
  KeyHome home;
  const SecretKey old = new_key();
  const SecretKey current = new_key();
  REQUIRE(home.update(set_text(1, 1, {&old}), {&old}, KeySetTurn::first));
  REQUIRE(home.update(set_text(2, 1, {&current}), {&old, &current}));
  check_refused(home.update(set_text(3, 1, {&old}), {&old}), "the home's key set 2");
}

TEST_CASE("text that the old keys have signed is not looked into before") {
  KeyHome home;
  const SecretKey a = new_key();
  REQUIRE(home.update(set_text(1, 1, {&a}), {&a}, KeySetTurn::first));
  check_refused(home.update("no set", {}), "the home's key set 1");
  CHECK(home.update("no set", {&a}).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("every flipped bit and every truncation of the kept set is found") {
  KeyHome home;
  const SecretKey a = new_key();
  REQUIRE(home.update(set_text(1, 1, {&a}), {&a}, KeySetTurn::first));
  const auto path = key_set_path(home.home);
  const std::string whole = text_of(path);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string other = whole;
    other[at] = static_cast<char>(other[at] ^ (1 << at % 8));
    put(path, other);
    CHECK_FALSE(read_key_set(*home.files, home.home));
    put(path, whole.substr(0, at));
    CHECK_FALSE(read_key_set(*home.files, home.home));
  }
  put(path, whole);
  CHECK(home.version() == 1);
  std::filesystem::permissions(path, std::filesystem::perms(0666));
  CHECK(read_key_set(*home.files, home.home).error().code == ErrorCode::untrusted);
}

TEST_CASE("one process at a time changes a key set") {
  KeyHome home;
  const SecretKey a = new_key();
  REQUIRE(home.update(set_text(1, 1, {&a}), {&a}, KeySetTurn::first));
  const auto lock = ok(home.files->lock(home.home / "trust/key_set.lock"));
  CHECK(home.update(set_text(2, 1, {&a}), {&a}).error().code == ErrorCode::busy);
}
