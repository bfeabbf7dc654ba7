// SPDX-License-Identifier: Apache-2.0
#include "minisign_tool.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"
#include "support/text.hpp"

#include <cubinet/base/base64.hpp>
#include <cubinet/trust/secret_key.hpp>

#include <algorithm>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace cubinet;
using namespace cubinet::test;

namespace {

SecretBytes secret(std::string_view text) {
  const ByteView bytes = as_bytes(text);
  return SecretBytes(Bytes(bytes.begin(), bytes.end()));
}

constexpr PasswordCost kCheap{32'768, 16'777'216};

// Returns a secret key's file after changing the bytes of its second line.
template <class Change>
std::string changed(std::string_view file, Change change) {
  const std::size_t start = file.find('\n') + 1;
  Bytes bytes = ok(from_base64(file.substr(start, file.size() - start - 1)));
  change(bytes);
  return std::string(file.substr(0, start)) + to_base64(bytes) + "\n";
}

}  // namespace

TEST_CASE("a public key in the place of a secret one is named as such") {
  const SecretKey key = ok(SecretKey::generate());
  for (const std::string& text : {key.public_key().to_file(), key.public_key().to_string()}) {
    const auto refused = SecretKey::parse(text, nullptr);
    REQUIRE_FALSE(refused);
    CHECK(contains(refused.error().message, "it is a public key"));
    CHECK(contains(refused.error().remedy, ".pub"));
  }
  const TempDir folder;
  write_file(folder / "key.pub", key.public_key().to_file());
  REQUIRE(::chmod((folder / "key.pub").c_str(), 0644) == 0);
  const auto read = read_secret_key(*posix_file_system(), folder / "key.pub", nullptr);
  REQUIRE_FALSE(read);
  CHECK(contains(read.error().message, "it is a public key"));
}

TEST_CASE("a generated key is read back, and no two are alike") {
  const SecretKey key = ok(SecretKey::generate());
  const SecretBytes text = ok(key.to_file(nullptr));
  const SecretKey back = ok(SecretKey::parse(text.text(), nullptr));
  CHECK(back.public_key() == key.public_key());
  CHECK(back.public_key().id() == key.public_key().id());
  CHECK(std::equal(back.seed().begin(), back.seed().end(), key.seed().begin(), key.seed().end()));
  const SecretKey other = ok(SecretKey::generate());
  CHECK_FALSE(other.public_key() == key.public_key());
  CHECK(other.public_key().id() != key.public_key().id());
}

TEST_CASE("a secret key that minisign wrote is read") {
  if (!has_minisign()) return;
  const TempDir folder;
  REQUIRE(minisign({"-G", "-W", "-p", folder / "key.pub", "-s", folder / "key"}));
  const SecretKey key = ok(SecretKey::parse(text_of(folder / "key"), nullptr));
  CHECK(key.public_key() == ok(PublicKey::parse(text_of(folder / "key.pub"))));
}

TEST_CASE("a secret key that minisign encrypted is read with its password alone") {
  if (!has_minisign()) return;
  const TempDir folder;
  REQUIRE(minisign({"-G", "-p", folder / "key.pub", "-s", folder / "key"}, "correct horse\ncorrect horse\n"));
  const std::string text = text_of(folder / "key");
  const SecretBytes right = secret("correct horse");
  CHECK(ok(SecretKey::parse(text, &right)).public_key() == ok(PublicKey::parse(text_of(folder / "key.pub"))));
  const auto without = SecretKey::parse(text, nullptr);
  REQUIRE_FALSE(without);
  CHECK(without.error().code == ErrorCode::invalid_argument);
  CHECK(contains(without.error().message, "no password"));
}

TEST_CASE("an encrypted key is read with its password, and neither with another one nor damaged") {
  const SecretKey key = ok(SecretKey::generate());
  const SecretBytes password = secret("a\nb");
  const SecretBytes text = ok(key.to_file(&password, kCheap));
  CHECK(ok(SecretKey::parse(text.text(), &password)).public_key() == key.public_key());
  const SecretBytes other = secret("a\nc");
  CHECK(SecretKey::parse(text.text(), &other).error().code == ErrorCode::untrusted);
  for (const std::size_t at : {6U, 37U, 54U, 62U, 94U, 126U, 157U}) {
    const auto damaged = changed(text.text(), [&](Bytes& bytes) { bytes.at(at) ^= std::byte{1}; });
    CHECK_FALSE(SecretKey::parse(damaged, &password));
  }
}

TEST_CASE("every flipped bit that counts and every truncation of a secret key is found") {
  const SecretKey key = ok(SecretKey::generate());
  const SecretBytes text = ok(key.to_file(nullptr));
  const std::string file(text.text());
  for (std::size_t length = 0; length < file.size(); ++length)
    CHECK_FALSE(SecretKey::parse(std::string_view(file).substr(0, length), nullptr));
  CHECK_FALSE(SecretKey::parse(file + "\n", nullptr));
  std::size_t taken = 0;
  for (std::size_t bit = 0; bit < std::size_t{158} * 8; ++bit) {
    const auto damaged =
        changed(file, [&](Bytes& bytes) { bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8); });
    if (SecretKey::parse(damaged, nullptr)) ++taken;
  }
  CHECK(taken == std::size_t{48} * 8);  // salt and costs, which have no meaning without a password
}

TEST_CASE("a secret key with the point of another one is refused") {
  const SecretKey a = ok(SecretKey::generate());
  const SecretKey b = ok(SecretKey::generate());
  const SecretBytes text = ok(a.to_file(nullptr));
  const auto swapped = changed(text.text(), [&](Bytes& bytes) {
    std::copy(b.public_key().point().begin(), b.public_key().point().end(), bytes.begin() + 94);
  });
  CHECK(SecretKey::parse(swapped, nullptr).error().code == ErrorCode::untrusted);
}

TEST_CASE("a password that would cost more than 1 GiB is not tried") {
  const SecretKey key = ok(SecretKey::generate());
  const SecretBytes password = secret("x");
  const SecretBytes text = ok(key.to_file(&password, kCheap));
  for (const std::uint64_t memory : {std::uint64_t{1} << 31U, std::uint64_t{1} << 62U, UINT64_MAX}) {
    for (const std::uint64_t operations : {std::uint64_t{1}, std::uint64_t{1} << 40U, UINT64_MAX}) {
      const auto dear = changed(text.text(), [&](Bytes& bytes) {
        for (unsigned i = 0; i < 8; ++i) {
          bytes[38 + i] = static_cast<std::byte>(operations >> 8 * i);
          bytes[46 + i] = static_cast<std::byte>(memory >> 8 * i);
        }
      });
      CHECK(SecretKey::parse(dear, &password).error().code == ErrorCode::unsupported);
    }
  }
  // Little memory and the maximum of operations would make p, and thus the time, large.
  const auto slow = changed(text.text(), [&](Bytes& bytes) {
    for (unsigned i = 0; i < 8; ++i) {
      bytes[38 + i] = std::byte{0xff};
      bytes[46 + i] = std::byte{0};
    }
  });
  CHECK(SecretKey::parse(slow, &password).error().code == ErrorCode::unsupported);
}

TEST_CASE("a secret key is written for its owner alone, and never over another file") {
  const TempDir folder;
  const auto path = folder / "key";
  const SecretKey key = ok(SecretKey::generate());
  const mode_t before = ::umask(0);
  const auto written = write_secret_file(path, ok(key.to_file(nullptr)));
  ::umask(before);
  REQUIRE(written);
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 07777U) == 0600U);
  const auto again = write_secret_file(path, ok(key.to_file(nullptr)));
  CHECK(again.error().code == ErrorCode::io);
  CHECK(ok(read_secret_key(*posix_file_system(), path, nullptr)).public_key() == key.public_key());
  std::filesystem::create_symlink(folder / "elsewhere", folder / "link");
  CHECK_FALSE(write_secret_file(folder / "link", ok(key.to_file(nullptr))));
  CHECK_FALSE(std::filesystem::exists(folder / "elsewhere"));
}

TEST_CASE("a secret key that others can read is not used") {
  const TempDir folder;
  const auto path = folder / "key";
  const auto files = posix_file_system();
  REQUIRE(write_secret_file(path, ok(ok(SecretKey::generate()).to_file(nullptr))));
  for (const mode_t mode : {0640U, 0604U, 0610U, 0601U, 0620U}) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    CHECK(read_secret_key(*files, path, nullptr).error().code == ErrorCode::untrusted);
  }
  REQUIRE(::chmod(path.c_str(), 0400) == 0);
  CHECK(read_secret_key(*files, path, nullptr));
  std::filesystem::create_symlink(path, folder / "link");
  CHECK(read_secret_key(*files, folder / "link", nullptr).error().code == ErrorCode::untrusted);
  CHECK(read_secret_key(*files, folder / "nothing", nullptr).error().code == ErrorCode::not_found);
}
