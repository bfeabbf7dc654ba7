// SPDX-License-Identifier: Apache-2.0
#include "versions_seen.hpp"

#include "signing.hpp"
#include "support/temp_dir.hpp"
#include "support/text.hpp"

#include <filesystem>
#include <thread>
#include <unistd.h>

using namespace cubinet;
using namespace cubinet::test;

namespace {

namespace fs = std::filesystem;

struct SeenFixture {
  TempDir folder;
  std::shared_ptr<FileSystem> files = posix_file_system();
  VersionsSeen seen{*files, folder / "seen"};
  PublicKey key = new_key().public_key();

  std::vector<fs::path> kept() const {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(folder / "seen"))
      paths.push_back(entry.path());
    return paths;
  }
  std::uint64_t newest(const std::string& channel = "c") const {
    const auto found = ok(seen.newest(channel, {key}));
    REQUIRE(found);
    return found->version;
  }
};

}  // namespace

TEST_CASE("the highest version of a channel and a key is kept, in one file") {
  SeenFixture fixture;
  CHECK_FALSE(ok(fixture.seen.newest("c", {fixture.key})));
  for (const std::uint64_t version : {3U, 9U, 10U, 2U}) {
    REQUIRE(fixture.seen.remember("c", fixture.key, version));
  }
  CHECK(fixture.newest() == 10);
  CHECK(fixture.kept().size() == 1);
  REQUIRE(fixture.seen.remember("c", fixture.key, UINT64_MAX));
  CHECK(fixture.newest() == UINT64_MAX);
  CHECK(fixture.kept().size() == 1);
  CHECK_FALSE(ok(fixture.seen.newest("d", {fixture.key})));
  CHECK_FALSE(ok(fixture.seen.newest("c", {new_key().public_key()})));
  CHECK(fixture.seen.remember("", fixture.key, 0));
  CHECK(fixture.newest("") == 0);
}

TEST_CASE("the highest of several keys is given with the key that signed it") {
  SeenFixture fixture;
  const PublicKey other = new_key().public_key();
  REQUIRE(fixture.seen.remember("c", fixture.key, 3));
  REQUIRE(fixture.seen.remember("c", other, 4));
  const auto newest = ok(fixture.seen.newest("c", {fixture.key, other}));
  REQUIRE(newest);
  CHECK(newest->version == 4);
  CHECK(newest->key_id == other.id());
}

TEST_CASE("every flipped bit and every truncation of a version seen is an error that names the file" *
          doctest::test_suite("loop")) {
  SeenFixture fixture;
  REQUIRE(fixture.seen.remember("c", fixture.key, 5));
  const fs::path path = fixture.kept().front();
  const std::string whole = text_of(path);
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string other = whole;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << bit % 8));
    put(path, other);
    const auto newest = fixture.seen.newest("c", {fixture.key});
    REQUIRE_FALSE(newest);
    CHECK(newest.error().code == ErrorCode::corruption);
    CHECK(contains(newest.error().message, path.filename().string()));
    put(path, whole.substr(0, bit / 8));
    CHECK_FALSE(fixture.seen.newest("c", {fixture.key}));
  }
  put(path, whole);
  CHECK(fixture.newest() == 5);
}

TEST_CASE("a file of another version, channel or key under the name is damage") {
  SeenFixture fixture;
  REQUIRE(fixture.seen.remember("c", fixture.key, 5));
  const std::string low = fixture.kept().front();
  REQUIRE(fixture.seen.remember("c", fixture.key, 1005));
  const std::string high = fixture.kept().front();
  fs::rename(high, low);
  CHECK(fixture.seen.newest("c", {fixture.key}).error().code == ErrorCode::corruption);
}

TEST_CASE("files of other names are passed over") {
  SeenFixture fixture;
  REQUIRE(fixture.seen.remember("c", fixture.key, 5));
  const std::string name = fixture.kept().front().filename();
  const std::string prefix = name.substr(0, 33);
  for (const std::string& other : {prefix + "99999999999999999999.seen", prefix + "-0000000000000000009.seen",
                                   prefix + "00000000000000000009.tmp", "." + name, prefix + "9.seen"}) {
    put(fixture.folder / ("seen/" + other), "x");
  }
  CHECK(fixture.newest() == 5);
}

TEST_CASE("what others could have written is not believed") {
  SeenFixture fixture;
  REQUIRE(fixture.seen.remember("c", fixture.key, 5));
  const fs::path path = fixture.kept().front();
  fs::permissions(path, fs::perms(0666));
  CHECK(fixture.seen.newest("c", {fixture.key}).error().code == ErrorCode::untrusted);
  fs::permissions(path, fs::perms(0600));
  CHECK(fixture.newest() == 5);
  fs::permissions(fixture.folder / "seen", fs::perms(0770));
  CHECK(fixture.seen.newest("c", {fixture.key}).error().code == ErrorCode::untrusted);
  fs::permissions(fixture.folder / "seen", fs::perms(0700));
  fs::rename(path, fixture.folder / "elsewhere");
  fs::create_symlink(fixture.folder / "elsewhere", path);
  CHECK(fixture.seen.newest("c", {fixture.key}).error().code == ErrorCode::untrusted);
}

TEST_CASE("of many who remember at once the highest stays, and nobody sees it go back") {
  SeenFixture fixture;
  constexpr std::uint64_t kEach = 40;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::uint64_t before = 0;
      for (std::uint64_t i = 0; i < kEach; ++i) {
        // Losing a race to remove the older file is not an error.
        if (!fixture.seen.remember("c", fixture.key, 4 * i + t)) std::abort();
        const auto newest = fixture.seen.newest("c", {fixture.key});
        if (!newest || !*newest || (*newest)->version < before || (*newest)->version < 4 * i + t)
          std::abort();
        before = (*newest)->version;
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(fixture.newest() == 4 * kEach - 1);
  CHECK(fixture.kept().size() == 1);
}
