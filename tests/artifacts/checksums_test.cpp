// SPDX-License-Identifier: Apache-2.0
#include <cubinet/artifacts/checksums.hpp>

#include <doctest/doctest.h>

#include <random>

using namespace cubinet;

namespace {

const std::string kDigest(64, 'a');
const std::string kOther(64, 'b');

std::string message_of(const std::string& text) {
  const auto entries = read_checksums(text);
  REQUIRE_FALSE(entries);
  return entries.error().message;
}

}  // namespace

TEST_CASE("a list of digests is read in the order of its lines, in every form that sha256sum writes") {
  const auto entries = read_checksums(kDigest + "  one.cubin\n" + kOther + " *sub/two.cubin\r\n\n   \n" +
                                      kDigest + "  ./include/three h.h");
  REQUIRE(entries);
  REQUIRE(entries->size() == 3);
  CHECK((*entries)[0].name == "one.cubin");
  CHECK((*entries)[0].digest.to_hex() == kDigest);
  CHECK((*entries)[1] == ChecksumEntry{"sub/two.cubin", *Sha256Digest::parse(kOther), 2});
  CHECK((*entries)[2].name == "include/three h.h");
  CHECK((*entries)[2].line == 5);
  CHECK(read_checksums("")->empty());
}

TEST_CASE("a line that is none is refused with its number") {
  const std::string good = kDigest + "  one\n";
  for (const std::string& bad :
       {std::string("x"), kDigest, kDigest + "  ", kDigest + " one", kDigest.substr(1) + "  one",
        std::string(64, 'g') + "  one", "\\" + kDigest + "  one", kDigest + "\tone",
        std::string(65, 'a') + " one"}) {
    CAPTURE(bad);
    CHECK(message_of(good + bad + "\n").find("line 2") != std::string::npos);
  }
}

TEST_CASE("a name that leads out of the folder is refused") {
  for (const char* name :
       {"/etc/passwd", "../x", "a/../x", "..", "a/..", ".", "a//b", "a/", "a/./b", "a\tb", "a\x7f"}) {
    CAPTURE(name);
    CHECK_FALSE(why_not_within(name).empty());
    const auto entries = read_checksums(kDigest + "  " + name + "\n");
    REQUIRE_FALSE(entries);
    CHECK(entries.error().code == ErrorCode::untrusted);
  }
  CHECK_FALSE(why_not_within("").empty());
  CHECK_FALSE(why_not_within(std::string("a\0b", 3)).empty());
  CHECK_FALSE(why_not_within(std::string(5000, 'x')).empty());
  for (const char* name : {"a", "a/b.cubin", "..a", "a..", "...", "-x", "\xff\xfe"})
    CHECK(why_not_within(name).empty());
}

TEST_CASE("a list has at most 10,000 folders, none of them below the 32nd") {
  std::string deep = "f";
  for (int i = 0; i < 32; ++i)
    deep = "d/" + deep;
  CHECK(read_checksums(kDigest + "  " + deep + "\n")->size() == 1);
  CHECK(message_of(kDigest + "  d/" + deep + "\n").find("more than 32 folders deep") != std::string::npos);
  std::string text;
  for (int i = 0; i < 5'000; ++i)
    text += kDigest + "  " + std::to_string(i) + "/a/f\n" + kDigest + "  " + std::to_string(i) + "/a/g\n";
  CHECK(read_checksums(text)->size() == 10'000);
  text += kDigest + "  last/f\n";
  CHECK(message_of(text).find("line 10001 of the list of digests names the folder after the first 10,000") !=
        std::string::npos);
}

TEST_CASE("one name has one digest") {
  CHECK(read_checksums(kDigest + "  one\n" + kDigest + "  one\n")->size() == 1);
  const std::string message = message_of(kDigest + "  one\n\n" + kOther + "  ./one\n");
  CHECK(message.find("line 3") != std::string::npos);
  CHECK(message.find("line 1") != std::string::npos);
}

TEST_CASE("any bytes give a list or an error") {
  std::mt19937 random(4);
  const std::string good = kDigest + "  one.cubin\n" + kOther + "  include/two.h\n";
  for (int round = 0; round < 20'000; ++round) {
    std::string text = good;
    for (int change = 0; change < 3; ++change)
      text[random() % text.size()] = static_cast<char>(random());
    text.resize(random() % (text.size() + 1));
    const auto entries = read_checksums(text);
    if (!entries) {
      CHECK(entries.error().message.find("line ") != std::string::npos);
      continue;
    }
    for (const ChecksumEntry& entry : *entries)
      CHECK(why_not_within(entry.name).empty());
  }
}
