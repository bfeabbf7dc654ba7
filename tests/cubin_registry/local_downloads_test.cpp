// SPDX-License-Identifier: Apache-2.0
#include "cubin_registry/home_fixture.hpp"
#include "support/ok.hpp"

#include <cubinet/cubin_registry/downloads.hpp>

#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace cubinet::test {
namespace {

using namespace std::chrono_literals;

const std::string kChunk = "a page of a bundle";
const std::string kPlace = "https://host/kernels#stable";

std::filesystem::path file_of(const HomeFixture& home, std::string_view content) {
  return HomeLayout(home.home).download(sha256(as_bytes(content)));
}

TEST_CASE("a chunk that was kept is found by its digest, also by another process") {
  HomeFixture home;
  const Sha256Digest digest = sha256(as_bytes(kChunk));
  const auto opened = home.open();
  CHECK_FALSE(ok(opened->downloads().find(digest, 100)));
  ok(opened->downloads().keep(digest, as_bytes(kChunk)));
  CHECK(as_text(*ok(home.open(HomeOptions::Access::read_only)->downloads().find(digest, 100))) == kChunk);
  CHECK(ok(opened->verify()).findings.empty());
  CHECK(ok(opened->downloads().has(digest, kChunk.size())));
  CHECK_FALSE(ok(opened->downloads().has(digest, kChunk.size() + 1)));
  ok(opened->downloads().forget(digest));
  CHECK_FALSE(ok(opened->downloads().has(digest, kChunk.size())));
}

TEST_CASE("a chunk that is damaged or longer than it may be is none, and is removed") {
  HomeFixture home;
  const auto opened = home.open();
  const Sha256Digest digest = sha256(as_bytes(kChunk));
  for (const std::string wrong : {"", "a page of a bundlf", "a page of a bundle and more"}) {
    ok(opened->downloads().keep(digest, as_bytes(wrong)));
    CHECK_FALSE(ok(opened->downloads().find(digest, kChunk.size())));
    CHECK_FALSE(std::filesystem::exists(file_of(home, kChunk)));
  }
  CHECK(home.log.count("is fetched again") == 3);
}

TEST_CASE("a home that cannot be written keeps no chunk, knows no lock and still answers") {
  HomeFixture home;
  const Sha256Digest digest = sha256(as_bytes(kChunk));
  ok(home.open()->downloads().keep(digest, as_bytes(kChunk)));
  const auto reader = home.open(HomeOptions::Access::read_only);
  CHECK(reader->downloads().keep(sha256({}), {}).error().code == ErrorCode::unavailable);
  CHECK(reader->downloads().change(kPlace, [](KnownChannel&) {}).error().code == ErrorCode::unavailable);
  CHECK(reader->downloads().lock(digest, 1s) == nullptr);
  CHECK(ok(reader->downloads().find(digest, 100)));
  CHECK(ok(reader->downloads().channel(kPlace)).place == kPlace);
}

TEST_CASE("one fetches while the others wait, and nobody waits for longer than the limit") {
  HomeFixture home;
  const auto opened = home.open();
  const Sha256Digest digest = sha256(as_bytes(kChunk));
  auto held = opened->downloads().lock(digest, 1s);
  REQUIRE(held != nullptr);
  CHECK(opened->downloads().lock(digest, 50ms) == nullptr);
  CHECK(home.log.count("fetching without the lock") == 1);
  CHECK(opened->downloads().lock(sha256({}), 50ms) != nullptr);
  held.reset();
  CHECK(opened->downloads().lock(digest, 50ms) != nullptr);
}

TEST_CASE("what is known of a channel is changed by one after the other") {
  HomeFixture home;
  const auto first = home.open();
  const auto second = home.open();
  std::vector<std::thread> threads;
  for (const auto& each : {first, second, first, second}) {
    threads.emplace_back([each] {
      for (int i = 0; i < 10; ++i)
        (void)each->downloads().change(kPlace, [](KnownChannel& known) { ++known.uses.asked; }).has_value();
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(ok(first->downloads().channel(kPlace)).uses.asked == 40);
  ok(first->downloads().change("s3://a/b#c", [](KnownChannel&) {}));
  const auto all = ok(second->downloads().channels());
  REQUIRE(all.size() == 2);
  CHECK(all[0].place == kPlace);
  CHECK(all[1].place == "s3://a/b#c");
}

TEST_CASE("what others could have said of a channel, or have damaged, is an error") {
  HomeFixture home;
  const auto opened = home.open();
  ok(opened->downloads().change(kPlace, [](KnownChannel&) {}));
  const auto file = home.only_file("channels");
  REQUIRE(::chmod(file.c_str(), 0666) == 0);
  CHECK(opened->downloads().channel(kPlace).error().code == ErrorCode::untrusted);
  REQUIRE(::chmod(file.c_str(), 0644) == 0);
  ok(opened->downloads().channel(kPlace));
  std::filesystem::rename(file, HomeLayout(home.home).channel(sha256(as_bytes("https://other#stable"))));
  CHECK(opened->downloads().channel("https://other#stable").error().code == ErrorCode::corruption);
}

TEST_CASE("a sweep removes what was downloaded more than a month ago, and nothing of yesterday") {
  HomeFixture home;
  const auto opened = home.open();
  for (const std::string content : {"old", "new"})
    ok(opened->downloads().keep(sha256(as_bytes(content)), as_bytes(content)));
  ok(opened->downloads().change(kPlace, [](KnownChannel&) {}));
  using Clock = std::filesystem::file_time_type::clock;
  const auto channel = home.only_file("channels");
  std::filesystem::last_write_time(file_of(home, "old"), Clock::now() - 31 * 24h);
  std::filesystem::last_write_time(file_of(home, "new"), Clock::now() - 24h);
  std::filesystem::last_write_time(channel, Clock::now() - 365 * 24h);
  CHECK(ok(opened->sweep({.dry_run = true})).files == 1);
  CHECK(ok(opened->sweep()).files == 1);
  CHECK_FALSE(std::filesystem::exists(file_of(home, "old")));
  CHECK(std::filesystem::exists(file_of(home, "new")));
  CHECK(std::filesystem::exists(channel));
}

}  // namespace
}  // namespace cubinet::test
