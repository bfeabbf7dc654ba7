// SPDX-License-Identifier: Apache-2.0
#include "minisign_tool.hpp"
#include "support/counted.hpp"
#include "support/ok.hpp"
#include "support/sampled.hpp"
#include "support/temp_dir.hpp"
#include "support/text.hpp"

#include <cubinet/base/base64.hpp>
#include <cubinet/trust/secret_key.hpp>
#include <cubinet/trust/signature.hpp>

#include <sstream>

using namespace cubinet;
using namespace cubinet::test;

namespace {

constexpr std::string_view kText = "what is signed";

// Returns a file's four lines.
std::vector<std::string> lines_of(const std::string& file) {
  std::vector<std::string> lines;
  std::istringstream stream(file);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

std::string file_of(const std::vector<std::string>& lines) {
  std::string file;
  for (const std::string& line : lines)
    file += line + "\n";
  return file;
}

Result<void> verify_file(const PublicKey& key, std::string_view file, std::string_view text) {
  CUBINET_TRY_ASSIGN(const MinisignSignature signature, parse_signature(file));
  return verify_signature(key, signature, as_bytes(text));
}

}  // namespace

TEST_CASE("minisign verifies what is signed here") {
  if (!has_minisign()) return;
  const TempDir folder;
  const SecretKey key = ok(SecretKey::generate());
  put(folder / "key.pub", key.public_key().to_file());
  for (const std::string& text : {std::string(), std::string(kText), std::string(100'000, '\0')}) {
    const MinisignSignature signature = ok(sign(key, as_bytes(text), "channel x\tversion 7"));
    put(folder / "file", text);
    put(folder / "file.minisig", signature.to_file());
    CHECK(minisign({"-V", "-p", folder / "key.pub", "-m", folder / "file"}));
    CHECK(minisign({"-V", "-P", key.public_key().to_string(), "-m", folder / "file"}));
    put(folder / "file", text + "x");
    CHECK_FALSE(minisign({"-V", "-p", folder / "key.pub", "-m", folder / "file"}));
    put(folder / "file", text);
    auto other = signature;
    other.trusted_comment = "channel x\tversion 8";
    put(folder / "file.minisig", other.to_file());
    CHECK_FALSE(minisign({"-V", "-p", folder / "key.pub", "-m", folder / "file"}));
  }
}

TEST_CASE("the longest comment that is signed here is one that minisign reads") {
  const TempDir folder;
  const SecretKey key = ok(SecretKey::generate());
  std::size_t longest = 0;
  for (std::size_t length = kMaximumTrustedComment; length > 0 && longest == 0; --length) {
    if (sign(key, as_bytes(kText), std::string(length, 'x'))) longest = length;
  }
  CHECK(longest >= 8000);
  const auto signature = ok(sign(key, as_bytes(kText), std::string(longest, 'x')));
  put(folder / "file", kText);
  put(folder / "file.minisig", signature.to_file());
  CHECK(verify_file(key.public_key(), signature.to_file(), kText));
  CHECK_FALSE(sign(key, as_bytes(kText), "two\nlines"));
  CHECK_FALSE(sign(key, as_bytes(kText), std::string_view("a\0b", 3)));
  if (has_minisign()) CHECK(minisign({"-V", "-P", key.public_key().to_string(), "-m", folder / "file"}));
}

TEST_CASE("a key that is made here signs with minisign") {
  if (!has_minisign()) return;
  const TempDir folder;
  const SecretKey key = ok(SecretKey::generate());
  put(folder / "file", kText);
  REQUIRE(write_secret_file(folder / "key", ok(key.to_file(nullptr))));
  REQUIRE(minisign({"-S", "-W", "-s", folder / "key", "-m", folder / "file"}));
  CHECK(verify_file(key.public_key(), text_of(folder / "file.minisig"), kText));
}

TEST_CASE("a key that is encrypted here signs with minisign") {
  if (!has_minisign()) return;
  const TempDir folder;
  const SecretKey key = ok(SecretKey::generate());
  const SecretBytes password(Bytes(3, std::byte{'x'}));
  put(folder / "file", kText);
  REQUIRE(write_secret_file(folder / "key", ok(key.to_file(&password, {524'288, 16'777'216}))));
  REQUIRE(minisign({"-S", "-s", folder / "key", "-m", folder / "file"}, "xxx\n"));
  CHECK(verify_file(key.public_key(), text_of(folder / "file.minisig"), kText));
}

TEST_CASE("what minisign signs in both of its ways is verified here") {
  if (!has_minisign()) return;
  const TempDir folder;
  REQUIRE(minisign({"-G", "-W", "-p", folder / "key.pub", "-s", folder / "key"}));
  const PublicKey key = ok(PublicKey::parse(text_of(folder / "key.pub")));
  put(folder / "file", kText);
  for (const bool legacy : {false, true}) {
    std::vector<std::string> line = {"-S", "-W",       "-s", folder / "key", "-m", folder / "file",
                                     "-t", "a comment"};
    if (legacy) line.emplace_back("-l");
    REQUIRE(minisign(line));
    const std::string file = text_of(folder / "file.minisig");
    const MinisignSignature signature = ok(parse_signature(file));
    CHECK(signature.prehashed == !legacy);
    CHECK(signature.trusted_comment == "a comment");
    CHECK(verify_signature(key, signature, as_bytes(kText)));
    CHECK(verify_signature(key, signature, as_bytes("another")).error().code == ErrorCode::untrusted);
    CHECK(verify_signature(ok(SecretKey::generate()).public_key(), signature, as_bytes(kText)).error().code ==
          ErrorCode::untrusted);
    // Converts the line ends as Windows does.
    std::string carried;
    for (const char c : file)
      carried += c == '\n' ? "\r\n" : std::string(1, c);
    CHECK(verify_file(key, carried, kText));
    // The same signature with the other algorithm's name.
    MinisignSignature other = signature;
    other.prehashed = legacy;
    CHECK_FALSE(verify_signature(key, other, as_bytes(kText)));
  }
}

TEST_CASE("every changed byte, every truncation and every lengthening of a signature is refused") {
  const SecretKey key = ok(SecretKey::generate());
  const std::string file = ok(sign(key, as_bytes(kText), "comment")).to_file();
  const std::size_t unsigned_from = std::string_view("untrusted comment: ").size();
  const std::size_t unsigned_until = file.find('\n');
  REQUIRE(verify_file(key.public_key(), file, kText));
  std::size_t mutants = 0;
  for (const std::size_t at : test::sampled(file.size(), 1)) {
    CHECK_FALSE(verify_file(key.public_key(), std::string_view(file).substr(0, at), kText));
    ++mutants;
    if (at >= unsigned_from && at < unsigned_until) continue;  // the unsigned comment
    for (const std::byte change : test::changes(at, 8)) {
      std::string other = file;
      other[at] = static_cast<char>(other[at] ^ std::to_integer<char>(change));
      CHECK_FALSE(verify_file(key.public_key(), other, kText));
      ++mutants;
    }
  }
  test::counted(mutants, "mutants");
  for (const std::string_view more : {"\n", " ", "x", "untrusted comment: x\n"})
    CHECK_FALSE(verify_file(key.public_key(), file + std::string(more), kText));
  CHECK_FALSE(verify_file(key.public_key(), file + file, kText));
}

TEST_CASE("every changed byte and every other length of what was signed is refused") {
  const SecretKey key = ok(SecretKey::generate());
  const std::string text(kText);
  const MinisignSignature signature = ok(sign(key, as_bytes(text), ""));
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string other = text;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << bit % 8));
    CHECK_FALSE(verify_signature(key.public_key(), signature, as_bytes(other)));
    CHECK_FALSE(verify_signature(key.public_key(), signature, as_bytes(text).first(bit / 8)));
  }
  CHECK_FALSE(verify_signature(key.public_key(), signature, as_bytes(text + '\0')));
}

TEST_CASE("a comment of another signature of the same key is refused") {
  const SecretKey key = ok(SecretKey::generate());
  const auto one = lines_of(ok(sign(key, as_bytes("one"), "version 1")).to_file());
  const auto two = lines_of(ok(sign(key, as_bytes("two"), "version 2")).to_file());
  REQUIRE(verify_file(key.public_key(), file_of(two), "two"));
  CHECK_FALSE(verify_file(key.public_key(), file_of({two[0], two[1], one[2], two[3]}), "two"));
  const auto swapped = verify_file(key.public_key(), file_of({two[0], two[1], one[2], one[3]}), "two");
  REQUIRE_FALSE(swapped);
  CHECK(contains(swapped.error().message, "trusted comment"));
}

TEST_CASE("a signature that names another key of the same point is refused") {
  const SecretKey key = ok(SecretKey::generate());
  const auto signature = ok(sign(key, as_bytes(kText), ""));
  const PublicKey renamed = ok(PublicKey::make({}, key.public_key().point()));
  const auto verified = verify_signature(renamed, signature, as_bytes(kText));
  REQUIRE_FALSE(verified);
  CHECK(contains(verified.error().message, key.public_key().id()));
}

TEST_CASE("what is no signature says why") {
  const SecretKey key = ok(SecretKey::generate());
  const auto good = lines_of(ok(sign(key, as_bytes(kText), "c")).to_file());
  const auto message = [](const std::string& text) { return parse_signature(text).error().message; };
  CHECK(contains(message(""), "four whole lines"));
  CHECK(contains(message(file_of({"comment: x", good[1], good[2], good[3]})), "first line"));
  CHECK(contains(message(file_of({good[0] + std::string(1024, 'x'), good[1], good[2], good[3]})),
                 "first line"));
  CHECK(contains(message(file_of({good[0], good[3], good[2], good[3]})), "second line"));
  CHECK(contains(message(file_of({good[0], good[1], "comment: c", good[3]})), "third line"));
  CHECK(contains(message(file_of({good[0], good[1], good[2] + "\x1b", good[3]})), "control characters"));
  CHECK(
      contains(message(file_of({good[0], good[1], good[2] + std::string(9000, 'x'), good[3]})), "too long"));
  CHECK(contains(message(std::string(kMaximumSignatureBytes + 1, '\n')), "too long"));
  CHECK(contains(message(file_of({good[0], good[1], good[2], good[1]})), "fourth line"));
  Bytes other = ok(from_base64(good[1]));
  other[1] = std::byte{'X'};
  CHECK(contains(message(file_of({good[0], to_base64(other), good[2], good[3]})), "algorithm"));
}
