// SPDX-License-Identifier: Apache-2.0
#include "local/home_layout.hpp"

#include "cubin_registry/fault_injection.hpp"
#include "cubin_registry/home_fixture.hpp"
#include "support/skip.hpp"

#include <cubinet/cubin_registry/downloads.hpp>

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;
using Access = HomeOptions::Access;

constexpr uid_t kNobody = 65534;

ErrorCode code_of_opening(HomeFixture& home, Access access = Access::read_write) {
  const auto registry = Home::open(home.options(access));
  REQUIRE_FALSE(registry.has_value());
  CHECK_FALSE(registry.error().remedy.empty());
  return registry.error().code;
}

TEST_CASE("a home is made private to its owner, parents included") {
  HomeFixture home;
  home.home = home.folder / "a/b/home";
  home.open();
  CHECK((fs::status(home.home).permissions() & fs::perms::mask) == fs::perms::owner_all);
  CHECK(fs::is_directory(home.home / "records"));
}

TEST_CASE("the name of a file is its digest, where the file lies in its place") {
  const HomeLayout home("/home");
  const Sha256Digest digest = sha256(Bytes(1));
  CHECK(home.cubin_digest(home.cubin(digest)) == digest);
  CHECK_FALSE(home.cubin_digest(home.cubin(digest).parent_path() / "notes.txt"));
}

TEST_CASE("a missing home cannot be read") {
  HomeFixture home;
  CHECK(code_of_opening(home, Access::read_only) == ErrorCode::unavailable);
  CHECK_FALSE(fs::exists(home.home));
}

TEST_CASE("an empty name is no home") {
  HomeFixture home;
  home.home.clear();
  CHECK(code_of_opening(home) == ErrorCode::invalid_argument);
}

TEST_CASE("a home that cannot be created, or is a file, is unavailable") {
  HomeFixture home;
  write_file(home.folder / "file", Bytes(1));
  home.home = home.folder / "file";
  CHECK(code_of_opening(home) == ErrorCode::unavailable);
  home.home = home.folder / "file/below";
  CHECK(code_of_opening(home) == ErrorCode::unavailable);
  home.home = "/proc/no such folder/home";
  CHECK(code_of_opening(home) == ErrorCode::unavailable);
}

TEST_CASE("a home that others can write is not trusted, nor is one with such a folder in it") {
  HomeFixture home;
  const Cubin cubin = cubin_of(1);
  REQUIRE(publishes(*home.open(), cubin));
  for (const char* name : {"downloads", "headers", "trust"})
    fs::create_directories(home.home / name);
  for (const char* name :
       {".", "cubins", "records", "locks", "quarantine", "downloads", "headers", "trust"}) {
    for (const fs::perms others : {fs::perms::group_write, fs::perms::others_write}) {
      fs::permissions(home.home / name, others, fs::perm_options::add);
      CHECK(code_of_opening(home) == ErrorCode::untrusted);
      CHECK(code_of_opening(home, Access::read_only) == ErrorCode::untrusted);
      fs::permissions(home.home / name, others, fs::perm_options::remove);
    }
  }
  CHECK(serves(*home.open(), cubin));
}

TEST_CASE("a symbolic link to a home is followed, one inside a home is not") {
  HomeFixture home;
  const Cubin cubin = cubin_of(1);
  REQUIRE(publishes(*home.open(), cubin));
  const fs::path real = home.home;
  fs::create_directory_symlink(real, home.folder / "link");
  home.home = home.folder / "link";
  auto registry = home.open();
  CHECK(serves(*registry, cubin));
  CHECK(registry->description().place == fs::canonical(real));
  fs::rename(real / "records", home.folder / "records");
  fs::create_directory_symlink(home.folder / "records", real / "records");
  CHECK(code_of_opening(home) == ErrorCode::untrusted);
  fs::remove(real / "records");
  fs::rename(home.folder / "records", real / "records");
  fs::create_directory_symlink(home.folder / "elsewhere", real / "downloads");
  CHECK(code_of_opening(home) == ErrorCode::untrusted);
}

TEST_CASE("a home of root that nobody else can write serves other users, and one of another user does not") {
  if (::geteuid() != 0) return skip("needs root");
  if (!can_fork()) return skip("forks");
  HomeFixture home;
  const Cubin cubin = cubin_of(1);
  REQUIRE(publishes(*home.open(), cubin));
  CHECK(home.open()->list()->size() == 1);  // makes the index
  REQUIRE(::chmod(home.folder.path().c_str(), 0755) == 0);
  REQUIRE(::chmod(home.home.c_str(), 0755) == 0);
  const auto served_to_nobody = [&] {
    return in_child([&] {
      if (::setuid(kNobody) != 0) return 2;
      for (const Access access : {Access::read_write, Access::read_only}) {
        const auto registry = Home::open(home.options(access));
        if (!registry) return registry.error().code == ErrorCode::untrusted ? 1 : 3;
        if ((*registry)->description().writable || !serves(**registry, cubin)) return 4;
        const std::string& why = (*registry)->description().why_read_only;
        if (why.ends_with("cannot be written: Permission denied") != (access == Access::read_write)) return 7;
        if ((*registry)->list()->size() != 1) return 5;
        if ((*registry)->publish(cubin_of(2)).error().code != ErrorCode::unavailable) return 6;
      }
      return 0;
    });
  };
  CHECK(served_to_nobody() == 0);
  fs::permissions(home.home / "records", fs::perms::group_write, fs::perm_options::add);
  CHECK(served_to_nobody() == 1);
  fs::permissions(home.home / "records", fs::perms::group_write, fs::perm_options::remove);
  REQUIRE(::chown(home.home.c_str(), kNobody + 1, kNobody) == 0);
  CHECK(served_to_nobody() == 1);
  CHECK(code_of_opening(home) == ErrorCode::untrusted);
  CHECK(code_of_opening(home, Access::read_only) == ErrorCode::untrusted);
}

TEST_CASE("a user who may read a home can hold none of its locks") {
  if (::geteuid() != 0) return skip("needs root");
  if (!can_fork()) return skip("forks");
  HomeFixture home;
  const fs::path locks = home.home / "locks";
  {
    const auto registry = home.open();
    for (const char* name : {"store.lock", "import.lock", "uses.lock"}) {  // as earlier versions made them
      write_file(locks / name, "");
      fs::permissions(locks / name, fs::perms{0644});
    }
    REQUIRE(publishes(*registry, cubin_of(1)));
    CHECK(serves(*registry, cubin_of(1)));
    CHECK(registry->sweep());
    const auto record = *cubin_of(1).record;
    CHECK(registry->lock_for_build(record.identity, record.fingerprint));
    CHECK(registry->downloads().lock(record.digest, std::chrono::milliseconds(0)) != nullptr);
    CHECK(registry->downloads().change("place", [](KnownChannel&) {}));
  }
  for (const fs::path& folder : {home.folder.path(), home.home})
    REQUIRE(::chmod(folder.c_str(), 0755) == 0);
  const auto files = posix_file_system();
  const std::vector<std::string> names = files->list(locks)->names;
  CHECK(names.size() == 6);
  CHECK(in_child([&] {
          if (::setuid(kNobody) != 0) return 100;
          for (const std::string& name : names) {
            if (::open((locks / name).c_str(), O_RDONLY) >= 0 || errno != EACCES) return 1;
          }
          return 0;
        }) == 0);
}

TEST_CASE("an image of another user is believed by its digest, a record is not") {
  if (::geteuid() != 0) return skip("needs root");
  HomeFixture home;
  REQUIRE(publishes(*home.open(), cubin_of(1)));
  REQUIRE(::chown(home.only_file("cubins").c_str(), kNobody, kNobody) == 0);
  CHECK(serves(*home.open(), cubin_of(1)));
  REQUIRE(::chown(home.only_file("records").c_str(), kNobody, kNobody) == 0);
  CHECK_FALSE(serves(*home.open(), cubin_of(1)));
}

// Everything below one folder that is the unprivileged user's own.
int as_nobody(const HomeFixture& home, const std::function<int()>& body) {
  REQUIRE(::chown(home.folder.path().c_str(), kNobody, kNobody) == 0);
  return in_child([&] { return ::setuid(kNobody) != 0 ? 2 : body(); });
}

TEST_CASE("an unwritable home serves an unprivileged user, and says that it cannot be written") {
  if (::geteuid() != 0) return skip("needs root, to become somebody else");
  if (!can_fork()) return skip("forks");
  HomeFixture home;
  CHECK(as_nobody(home, [&] {
          const Cubin cubin = cubin_of(1);
          if (!publishes(*home.open(), cubin)) return 3;
          fs::permissions(home.home, fs::perms::owner_read | fs::perms::owner_exec);
          auto registry = home.open();
          const bool served = serves(*registry, cubin);
          const bool refused = registry->publish(cubin_of(2)).error().code == ErrorCode::unavailable;
          fs::permissions(home.home, fs::perms::owner_all);
          return served && refused ? 0 : 1;
        }) == 0);
}

TEST_CASE("an unprivileged user cannot make a home where nobody may write") {
  if (::geteuid() != 0) return skip("needs root, to become somebody else");
  if (!can_fork()) return skip("forks");
  HomeFixture home;
  CHECK(as_nobody(home, [&] {
          fs::permissions(home.folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
          const auto registry = Home::open(home.options());
          fs::permissions(home.folder.path(), fs::perms::owner_all);
          return !registry && registry.error().code == ErrorCode::unavailable ? 0 : 1;
        }) == 0);
}

TEST_CASE("an image without read permission is no damage, and is replaced by a publish") {
  if (::geteuid() != 0) return skip("needs root, to become somebody else");
  if (!can_fork()) return skip("forks");
  HomeFixture home;
  CHECK(as_nobody(home, [&] {
          auto registry = home.open();
          const Cubin cubin = cubin_of(1);
          if (!publishes(*registry, cubin)) return 3;
          fs::permissions(home.only_file("cubins"), fs::perms::none);
          if (registry->load(cubin.record)) return 4;
          if (registry->stats()->quarantined != 0) return 5;
          return publishes(*registry, cubin) && serves(*registry, cubin) ? 0 : 1;
        }) == 0);
}

TEST_CASE("the name of a record is its kernel and its content") {
  const CubinRecord one = *cubin_of(1).record;
  const std::string name = entry_name(one);
  CHECK(name.starts_with(entry_prefix(one.identity.kernel_hash())));
  CHECK(name.size() == 16 + 1 + 32);
  CHECK(name == entry_name(one.identity.kernel_hash(), encode_record(one)));
  CHECK(name != entry_name(*cubin_of(1, "another").record));
  CHECK(name != entry_name(*cubin_of(2).record));
  CubinRecord other = one;
  other.warnings = "a word more";
  CHECK(name != entry_name(other));
  CHECK(entry_name(other).substr(0, 17) == name.substr(0, 17));
  const HomeLayout home("/home");
  CHECK(home.build_lock(one.identity, one.fingerprint) !=
        home.build_lock(one.identity, fake_fingerprint("another")));
}

TEST_CASE("the files that a home removes are told by their whole names") {
  const HomeLayout home("/home");
  const Sha256Digest digest = sha256(as_bytes("a"));
  const std::string hex = digest.to_hex();
  CHECK(home.is_download(home.download(digest)));
  for (const std::string& name : std::vector<std::string>{
           "downloads/" + hex, "downloads/00/" + hex, "downloads/" + hex.substr(0, 2) + "/f",
           "other/" + hex.substr(0, 2) + "/" + hex, "downloads/f"})
    CHECK_FALSE(home.is_download(home.root() / name));
  const CubinRecord one = *cubin_of(1).record;
  for (const fs::path& lock : {home.store_lock(), home.import_lock(), home.sweep_lock(), home.uses_lock(),
                               home.download_lock(digest), home.channel_lock(digest),
                               home.build_lock(one.identity, one.fingerprint)})
    CHECK_MESSAGE(home.is_lock(lock), lock.string());
  for (const std::string& name : std::vector<std::string>{
           "locks/yarn.lock", "locks/.lock", "locks/a/store.lock", "store.lock",
           "locks/" + hex.substr(0, 31) + ".lock", "locks/" + hex.substr(0, 32) + ".channel.lock",
           "locks/" + std::string(32, 'g') + ".lock", "locks/" + hex})
    CHECK_MESSAGE(!home.is_lock(home.root() / name), name);
}

}  // namespace
}  // namespace cubinet::test
