// SPDX-License-Identifier: Apache-2.0
#include "home_notes.hpp"

#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/base/sha256.hpp>

#include <doctest/doctest.h>

namespace cubinet::nvcc {
namespace {

using test::ok;
using test::TempDir;

BuildFingerprint fingerprint(std::string_view text) {
  return BuildFingerprint{sha256(as_bytes(text))};
}

TEST_CASE("A refusal is kept for its fingerprint alone") {
  const TempDir home;
  const HomeNotes notes(home.path().string());
  CHECK_FALSE(notes.refusal(fingerprint("a")).has_value());
  ok(notes.add_refusal(fingerprint("a"), "k.cu(1): error: no\nsecond line"));
  const auto kept = HomeNotes(home.path().string()).refusal(fingerprint("a"));
  REQUIRE(kept.has_value());
  CHECK(*kept == "k.cu(1): error: no\\x0asecond line");
  CHECK_FALSE(notes.refusal(fingerprint("b")).has_value());
}

TEST_CASE("Lines for nvcc are counted by reason") {
  const TempDir home;
  const HomeNotes notes(home.path().string());
  CHECK(ok(notes.counts()).empty());
  ok(notes.count("it has no input"));
  ok(notes.count("it has several inputs"));
  ok(notes.count("it has no input"));
  const auto counts = ok(notes.counts());
  CHECK(counts.size() == 2);
  CHECK(counts.at("it has no input") == 2);
}

TEST_CASE("The list of lines for nvcc ends at one mebibyte") {
  const TempDir home;
  test::write_file(home / "nvcc/passed", std::string(std::size_t{1} << 20, '\n'));
  const HomeNotes notes(home.path().string());
  ok(notes.count("it has no input"));
  CHECK(ok(notes.counts()).count("it has no input") == 0);
}

TEST_CASE("Without a home nothing is kept") {
  const HomeNotes notes{std::string()};
  ok(notes.count("it has no input"));
  ok(notes.add_refusal(fingerprint("a"), "no"));
  CHECK(ok(notes.counts()).empty());
  CHECK_FALSE(notes.refusal(fingerprint("a")).has_value());
}

TEST_CASE("A home that cannot be written is an error of the note") {
  const TempDir folder;
  test::write_file(folder / "file", "");
  const HomeNotes notes((folder / "file").string());
  CHECK_FALSE(notes.count("it has no input").has_value());
  CHECK_FALSE(notes.add_refusal(fingerprint("a"), "no").has_value());
}

}  // namespace
}  // namespace cubinet::nvcc
