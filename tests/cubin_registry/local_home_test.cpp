// SPDX-License-Identifier: Apache-2.0
#include "local/local_home.hpp"

#include <cubinet/cubin_registry/downloads.hpp>
#include <cubinet/cubin_registry/home.hpp>

#define XXH_INLINE_ALL
#include "cubin_registry/artifact_fixture.hpp"
#include "cubin_registry/fault_injection.hpp"
#include "cubin_registry/home_fixture.hpp"
#include "support/counted.hpp"
#include "support/sampled.hpp"
#include "support/skip.hpp"

#include <sqlite3.h>
#include <xxhash.h>

#include <chrono>
#include <future>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

TEST_CASE("what is published is found and loaded, by this registry and by one opened later") {
  HomeFixture home;
  const Cubin cubin = cubin_of(128);
  {
    auto registry = home.open();
    CHECK_FALSE(serves(*registry, cubin));
    REQUIRE(publishes(*registry, cubin));
    CHECK(serves(*registry, cubin));
  }
  CHECK(serves(*home.open(), cubin));
  CHECK(serves(*home.open(HomeOptions::Access::read_only), cubin));
  CHECK(home.log.lines.empty());
}

TEST_CASE("builds of one kernel with several fingerprints are kept side by side, newest first") {
  HomeFixture home;
  auto registry = home.open();
  for (const char* build : {"first", "second", "third"}) {
    REQUIRE(publishes(*registry, cubin_of(64, build)));
    // The age of an entry is its record file's time. File times advance every 10 ms at most, so two
    // publications in one tick are equally old.
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  const auto found = registry->find(cubin_of(64).record->identity.kernel());
  REQUIRE(found->size() == 3);
  CHECK(found->front()->fingerprint == fake_fingerprint("third"));
  CHECK(found->back()->fingerprint == fake_fingerprint("first"));
  CHECK(registry->find_key(cubin_of(64).record->identity.key())->size() == 3);
}

// Returns identities whose XXH3 hash does not depend on `free_byte`. XXH3 multiplies pairs of
// 64-bit words of the input, each xored with a word of a public secret. An input word equal to its
// secret makes one factor zero, so the other factor is free.
KernelIdentity colliding_identity(char free_byte) {
  constexpr std::size_t kPrefix = 4 + 2 + 1 + 4 + 1 + 4 + 4 + 1 + 1 + 4;  // before the text's first byte
  constexpr std::size_t kBlock = (kPrefix + 15) / 16;
  std::string text(16 * (kBlock + 1) - kPrefix, 'x');
  const auto* secret = static_cast<const char*>(static_cast<const void*>(XXH3_kSecret)) + 16 * kBlock;
  text.replace(16 * kBlock - kPrefix, 8, secret, 8);
  text.replace(16 * kBlock - kPrefix + 8, 8, std::string(8, free_byte));
  text += std::string(150 - kPrefix - text.size(), 'y');  // inputs of 129 to 240 bytes use this path
  KernelSpec spec;
  spec.name = "t";
  spec.set("p", ParameterValue(text));
  return identify(spec, SmTarget{9, 0, TargetKind::specific});
}

TEST_CASE("two kernels whose 64 bit keys collide are both stored and told apart") {
  const KernelIdentity first = colliding_identity('a');
  const KernelIdentity second = colliding_identity('b');
  REQUIRE(first.key() == second.key());
  REQUIRE(first.encoding() != second.encoding());
  HomeFixture home;
  std::vector<Cubin> cubins;
  for (const KernelIdentity& identity : {first, second}) {
    Cubin cubin = cubin_of(static_cast<int>(cubins.size()) + 1);
    auto record = std::make_shared<CubinRecord>(*cubin.record);
    record->identity = identity;
    cubins.push_back({record, cubin.image});
  }
  auto registry = home.open();
  REQUIRE(publishes(*registry, cubins[0]));
  CHECK(registry->find(second.kernel())->empty());
  REQUIRE(publishes(*registry, cubins[1]));
  const auto check = [&] {
    for (const Cubin& cubin : cubins) {
      CHECK(serves(*registry, cubin));
      CHECK(registry->find(cubin.record->identity.kernel())->size() == 1);
    }
    CHECK(registry->find_key(first.key())->size() == 2);
  };
  check();
  fs::remove(home.home / "index.sqlite");
  registry = home.open();
  check();
  CHECK(*registry->remove({cubins[0].record}));
  CHECK(registry->find(first.kernel())->empty());
  CHECK(serves(*registry, cubins[1]));
}

TEST_CASE("a record that does not describe its image is not published") {
  HomeFixture home;
  auto registry = home.open();
  Cubin cubin = cubin_of(1);
  CHECK(registry->publish({cubin.record, nullptr}).error().code == ErrorCode::invalid_argument);
  CHECK(registry->publish({nullptr, cubin.image}).error().code == ErrorCode::invalid_argument);
  CHECK(registry->publish({cubin.record, cubin_of(2).image}).error().code == ErrorCode::invalid_argument);
  auto nameless = std::make_shared<CubinRecord>(*cubin.record);
  nameless->identity = KernelIdentity();
  CHECK(registry->publish({nameless, cubin.image}).error().code == ErrorCode::invalid_argument);
  CHECK(registry->stats()->entries == 0);
}

TEST_CASE("an entry that is there stays, unless its image is damaged or a bundle is superseded") {
  HomeFixture home;
  auto registry = home.open();
  const Cubin first = cubin_of(1);
  Cubin other = cubin_of(2);
  auto record = std::make_shared<CubinRecord>(*other.record);
  record->identity = first.record->identity;
  other.record = record;
  REQUIRE(publishes(*registry, first));
  REQUIRE(publishes(*registry, other));
  CHECK(serves(*registry, first));
  CHECK_FALSE(serves(*registry, other));

  Bytes damaged = *first.image;
  damaged[100] ^= std::byte{1};
  write_file(home.only_file("cubins"), damaged);
  REQUIRE(publishes(*registry, other));
  CHECK(serves(*registry, other));

  const auto from_bundle = [&](std::uint64_t version) {
    Cubin cubin = cubin_of(3);
    auto bundled = std::make_shared<CubinRecord>(*cubin.record);
    bundled->origin = CubinOrigin::bundle;
    bundled->version = version;
    return Cubin{bundled, cubin.image};
  };
  REQUIRE(publishes(*registry, from_bundle(5)));
  REQUIRE(publishes(*registry, from_bundle(4)));
  CHECK(serves(*registry, from_bundle(5)));
  REQUIRE(publishes(*registry, from_bundle(6)));
  CHECK(serves(*registry, from_bundle(6)));
  REQUIRE(publishes(*registry, cubin_of(3)));
  CHECK(serves(*registry, cubin_of(3)));
  REQUIRE(publishes(*registry, from_bundle(7)));
  CHECK(serves(*registry, cubin_of(3)));
}

TEST_CASE("a damaged image is quarantined, logged, a miss, and can be published again") {
  HomeFixture home;
  auto registry = home.open();
  const Cubin cubin = cubin_of(1);
  const Cubin neighbour = cubin_of(2);
  REQUIRE(publishes(*registry, cubin));
  const fs::path file = home.only_file("cubins");
  REQUIRE(publishes(*registry, neighbour));
  const auto record = registry->find(cubin.record->identity.kernel())->front();
  const auto attempt = [&](const std::function<void()>& damage) {
    const std::uint64_t before = registry->stats()->quarantined;
    const std::size_t logged = home.log.lines.size();
    damage();
    const auto loaded = registry->load(record);
    REQUIRE(loaded.has_value());
    CHECK_FALSE(loaded->has_value());
    CHECK(home.log.lines.size() > logged);
    CHECK(registry->find(cubin.record->identity.kernel())->empty());
    CHECK(registry->verify()->findings.empty());
    CHECK(serves(*registry, neighbour));
    REQUIRE(publishes(*registry, cubin));
    CHECK(serves(*registry, cubin));
    return registry->stats()->quarantined - before;
  };
  CHECK(attempt([&] { fs::resize_file(file, 10); }) == 1);
  CHECK(attempt([&] { fs::resize_file(file, 0); }) == 1);
  CHECK(attempt([&] { fs::resize_file(file, fs::file_size(file) + 1); }) == 1);
  CHECK(attempt([&] { fs::remove(file); }) == 0);
  CHECK(attempt([&] {
          fs::remove(file);
          fs::create_directory(file);
        }) == 1);
  // The owner and other names of the file do not matter, because its digest is compared.
  fs::create_hard_link(file, home.folder / "other name");
  fs::permissions(file, fs::perms::others_write, fs::perm_options::add);
  CHECK(serves(*registry, cubin));
  std::size_t notes = 0;
  for (const auto& entry : fs::directory_iterator(home.home / "quarantine")) {
    notes += entry.path().extension() == ".reason" ? 1U : 0U;
  }
  CHECK(notes == 4);
}

TEST_CASE("every flipped byte and every truncation of an image is caught" * doctest::test_suite("loop")) {
  HomeFixture home;
  const Cubin cubin = cubin_of(1);
  REQUIRE(publishes(*home.open(), cubin));
  const fs::path file = home.only_file("cubins");
  // A read-only home reports the damage and does not repair it.
  auto registry = home.open(HomeOptions::Access::read_only);
  const auto record = registry->find(cubin.record->identity.kernel())->front();
  const Bytes whole = *cubin.image;
  std::size_t mutants = 0;
  std::size_t caught = 0;
  const auto try_it = [&](ByteView bytes) {
    write_file(file, bytes);
    const auto loaded = registry->load(record);
    ++mutants;
    caught += loaded && !*loaded ? 1U : 0U;
  };
  for (const std::size_t i : sampled(whole.size(), 1)) {
    for (const std::byte change : changes(i, 1)) {
      Bytes damaged = whole;
      damaged[i] ^= change;
      try_it(damaged);
    }
    try_it(ByteView(whole).first(i));
  }
  CHECK(caught == mutants);
  counted(mutants, "mutants");
  write_file(file, whole);
  CHECK(serves(*registry, cubin));
}

TEST_CASE("an image that two entries share goes with the last of them") {
  HomeFixture home;
  auto registry = home.open();
  const Cubin first = cubin_of(1, "one");
  const Cubin second = cubin_of(1, "two");
  REQUIRE(publishes(*registry, first));
  REQUIRE(publishes(*registry, second));
  CHECK(registry->stats()->cubins == 1);
  CHECK(*registry->remove({first.record}) == 1);
  CHECK(*registry->remove({first.record}) == 0);
  CHECK(serves(*registry, second));
  CHECK(*registry->remove({second.record}));
  CHECK(registry->stats()->entries == 0);
  for (const auto& entry : fs::recursive_directory_iterator(home.home / "cubins"))
    CHECK(entry.is_directory());
}

TEST_CASE("an image that two entries share stays while an entry names it that the index lacks") {
  HomeFixture home;
  auto registry = home.open();
  const Cubin first = cubin_of(1, "one");
  const Cubin second = cubin_of(1, "two");
  REQUIRE(publishes(*registry, first));
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open((home.home / "index.sqlite").c_str(), &other) == SQLITE_OK);
  REQUIRE(sqlite3_exec(other, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr) == SQLITE_OK);
  REQUIRE(publishes(*registry, second));
  sqlite3_close(other);
  const auto later = home.open();
  CHECK(*later->remove({first.record}));
  CHECK(serves(*later, second));
  CHECK(*later->remove({second.record}));
  for (const auto& entry : fs::recursive_directory_iterator(home.home / "cubins"))
    CHECK(entry.is_directory());
}

TEST_CASE("many entries go at once, with the images that none of those that stay names") {
  HomeFixture home;
  auto registry = home.open();
  std::vector<std::shared_ptr<const CubinRecord>> going;
  for (int image = 1; image <= 4; ++image) {
    going.push_back(cubin_of(image, "one").record);
    REQUIRE(publishes(*registry, cubin_of(image, "one")));
  }
  const Cubin staying = cubin_of(4, "two");
  REQUIRE(publishes(*registry, staying));
  CHECK(*registry->remove(going) == 4);
  CHECK(*registry->remove(going) == 0);
  CHECK(*registry->remove(CubinRecords()) == 0);
  CHECK(serves(*registry, staying));
  CHECK(registry->stats()->entries == 1);
  CHECK(registry->stats()->cubins == 1);
  CHECK(registry->verify()->findings.empty());
}

TEST_CASE("an old image that is damaged leaves the entry that superseded it") {
  HomeFixture home;
  auto registry = home.open();
  REQUIRE(publishes(*registry, shipped(1, 1)));
  const auto held = registry->find(shipped(1, 1).record->identity.kernel())->front();
  REQUIRE(publishes(*registry, shipped(2, 2)));
  write_file(HomeLayout(home.home).cubin(held->digest), Bytes(5));
  CHECK_FALSE(registry->load(held)->has_value());
  CHECK(serves(*registry, shipped(2, 2)));
  CHECK_FALSE(*registry->remove({held}));
  CHECK(serves(*registry, shipped(2, 2)));
  CHECK(registry->verify()->findings.empty());
}

TEST_CASE("a row that its record superseded hides nothing, and no list shows both") {
  HomeFixture home;
  auto registry = home.open();
  REQUIRE(publishes(*registry, shipped(1, 1)));
  home.leave(shipped(2, 2));
  const auto reader = home.open(HomeOptions::Access::read_only);
  for (Home* asked : {registry.get(), reader.get()}) {
    const auto found = *asked->find(shipped(1, 1).record->identity.kernel());
    REQUIRE(found.size() == 1);
    CHECK(found.front()->version == 2);
    CHECK(asked->list()->size() == 1);
    CHECK(asked->stats()->entries == 1);
    CHECK(serves(*asked, shipped(2, 2)));
  }
  CHECK(registry->sweep()->bytes == shipped(1, 1).image->size());
  CHECK(serves(*registry, shipped(2, 2)));
  CHECK(registry->verify()->findings.empty());
}

TEST_CASE("a build that is removed goes with all of its records, and a record that does not count alone") {
  HomeFixture home;
  auto registry = home.open();
  const auto kernel = shipped(1, 1).record->identity.kernel();
  for (std::uint64_t version = 1; version <= 3; ++version)
    home.leave(shipped(static_cast<int>(version), version));
  CHECK(*registry->remove({shipped(1, 1).record}) == 1);
  CHECK(serves(*registry, shipped(3, 3)));
  CHECK(*registry->remove(*registry->find(kernel)) == 1);
  CHECK(registry->find(kernel)->empty());
  CHECK(registry->list()->empty());
  CHECK(registry->stats()->entries == 0);
  CHECK(registry->verify()->findings.empty());
}

TEST_CASE("a record without its image hides no record of the build that has one") {
  for (const bool damaged : {false, true}) {
    CAPTURE(damaged);
    HomeFixture home;
    auto registry = home.open();
    home.leave(shipped(1, 1));
    home.leave(shipped(2, 2));
    fs::remove(home.image_of(shipped(2, 2)));
    if (damaged) write_file(home.image_of(shipped(2, 2)), Bytes(10));
    for (const auto access : {HomeOptions::Access::read_only, HomeOptions::Access::read_write}) {
      registry = home.open(access);
      CHECK(serves(*registry, shipped(1, 1)));
      CHECK(registry->find(shipped(1, 1).record->identity.kernel())->size() == 1);
      CHECK(registry->list()->front()->version == 1);
    }
    CHECK(*registry->remove({shipped(1, 1).record}) == 1);
    CHECK(registry->list()->empty());
  }
}

TEST_CASE("a build that the index does not know is found beside one that it does") {
  HomeFixture home;
  auto registry = home.open();
  REQUIRE(publishes(*registry, cubin_of(1, "old")));
  CHECK(registry->list()->size() == 1);
  FileStore store(posix_file_system(), HomeLayout(home.home), home.log.sink());
  REQUIRE(store.write_record(cubin_of(1, "current").record));
  CHECK(registry->find(cubin_of(1).record->identity.kernel())->size() == 2);
  CHECK(home.open()->find(cubin_of(1).record->identity.kernel())->size() == 2);
  CHECK(registry->list()->size() == 2);
}
TEST_CASE("entries are listed by template, then key") {
  HomeFixture home;
  auto registry = home.open();
  for (int i = 0; i < 20; ++i)
    REQUIRE(publishes(*registry, cubin_of(i)));
  KernelSpec spec;
  spec.name = "a_template";
  REQUIRE(publishes(*registry, make_cubin(spec)));
  const auto listed = registry->list();
  REQUIRE(listed->size() == 21);
  CHECK(listed->front()->identity == identify(spec, FakeCubin{}.target));
  for (std::size_t i = 2; i < listed->size(); ++i) {
    CHECK((*listed)[i - 1]->identity.key() < (*listed)[i]->identity.key());
  }
}

TEST_CASE("a read only registry serves, and refuses to write") {
  HomeFixture home;
  const Cubin cubin = cubin_of(1);
  REQUIRE(publishes(*home.open(), cubin));
  auto registry = home.open(HomeOptions::Access::read_only);
  CHECK(serves(*registry, cubin));
  CHECK(registry->publish(cubin_of(2)).error().code == ErrorCode::unavailable);
  CHECK(registry->remove({cubin.record}).error().code == ErrorCode::unavailable);
  CHECK(registry->repair().error().code == ErrorCode::unavailable);
  CHECK(registry->sweep().error().code == ErrorCode::unavailable);
  CHECK(registry->lock_for_build(cubin.record->identity, cubin.record->fingerprint).has_value());
  CHECK(registry->verify()->findings.empty());
  CHECK(registry->stats()->entries == 1);
  write_file(home.only_file("cubins"), Bytes(10));
  CHECK_FALSE(serves(*registry, cubin));
  CHECK(fs::file_size(home.only_file("cubins")) == 10);
}

TEST_CASE("a registry opened before a fork says so in the child and goes on in the parent") {
  if (!can_fork()) return skip("forks");
  HomeFixture home;
  const Cubin cubin = cubin_of(1);
  auto registry = home.open();
  REQUIRE(publishes(*registry, cubin));
  CHECK(in_child([&] {
          const bool refused =
              registry->find(cubin.record->identity.kernel()).error().code == ErrorCode::unavailable &&
              registry->publish(cubin).error().code == ErrorCode::unavailable;
          registry.reset();
          const bool own = serves(*home.open(), cubin);
          return refused && own ? 0 : 1;
        }) == 0);
  CHECK(serves(*registry, cubin));
  REQUIRE(publishes(*registry, cubin_of(2)));
}

TEST_CASE("what another process publishes, replaces and removes is seen at once") {
  if (!can_fork()) return skip("forks");
  HomeFixture home;
  auto registry = home.open();
  REQUIRE(publishes(*registry, cubin_of(1)));
  CHECK(serves(*registry, cubin_of(1)));
  REQUIRE(in_child([&] { return publishes(*home.open(), cubin_of(2)) ? 0 : 1; }) == 0);
  CHECK(serves(*registry, cubin_of(2)));
  REQUIRE(in_child([&] { return publishes(*home.open(), cubin_of(2, "newer")) ? 0 : 1; }) == 0);
  CHECK(registry->find(cubin_of(2).record->identity.kernel())->front()->fingerprint ==
        fake_fingerprint("newer"));
  REQUIRE(in_child([&] { return *home.open()->remove({cubin_of(1).record}) ? 0 : 1; }) == 0);
  CHECK(registry->find(cubin_of(1).record->identity.kernel())->empty());
}

TEST_CASE("a build lock keeps others out, and is released by its owner or the death of it") {
  if (!can_fork()) return skip("forks");
  HomeFixture home;
  auto registry = home.open();
  const CubinRecord record = *cubin_of(1).record;
  const fs::path marker = home.folder / "done";
  auto lock = registry->lock_for_build(record.identity, record.fingerprint);
  REQUIRE(lock);
  CHECK(registry->lock_for_build(cubin_of(2).record->identity, record.fingerprint).has_value());
  const pid_t child = ::fork();
  if (child == 0) {
    auto own = home.open();
    const auto locked = own->lock_for_build(record.identity, record.fingerprint);
    write_file(marker, Bytes(1));
    ::_exit(locked ? 0 : 1);  // ends without releasing the lock
  }
  ::usleep(50'000);
  CHECK_FALSE(fs::exists(marker));
  lock->reset();
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(fs::exists(marker));
  CHECK(registry->lock_for_build(record.identity, record.fingerprint).has_value());
}

TEST_CASE("those who wait for a build go on together when it has come, and alone when it has not") {
  HomeFixture home;
  auto registry = home.open();
  const Cubin cubin = cubin_of(1);
  const auto wait = [&] {
    const auto own = home.open();
    auto lock = own->lock_for_build(cubin.record->identity, cubin.record->fingerprint);
    REQUIRE(lock);
    return *std::move(lock);
  };
  auto builder = registry->lock_for_build(cubin.record->identity, cubin.record->fingerprint);
  REQUIRE(builder);
  std::vector<std::future<std::unique_ptr<BuildLock>>> waiting;
  for (int i = 0; i < 4; ++i)
    waiting.push_back(std::async(std::launch::async, wait));
  CHECK(waiting.front().wait_for(std::chrono::milliseconds(60)) == std::future_status::timeout);
  REQUIRE(publishes(*registry, cubin));
  builder->reset();
  // All waiters hold their locks at the same time.
  for (auto& each : waiting)
    CHECK(each.wait_for(std::chrono::seconds(5)) == std::future_status::ready);
  waiting.clear();
  // An existing build is built again because it is damaged, so only one of the waiters may build
  // it.
  auto again = registry->lock_for_build(cubin.record->identity, cubin.record->fingerprint);
  auto first = std::async(std::launch::async, wait);
  auto second = std::async(std::launch::async, wait);
  CHECK(first.wait_for(std::chrono::milliseconds(60)) == std::future_status::timeout);
  again->reset();
  auto* const late = first.wait_for(std::chrono::seconds(5)) == std::future_status::ready ? &second : &first;
  CHECK(late->wait_for(std::chrono::milliseconds(60)) == std::future_status::timeout);
  static_cast<void>((late == &second ? first : second).get());
}

TEST_CASE("a home that is removed while it is used is an error of the environment, whatever is done to it") {
  HomeFixture home;
  const ArtifactFolder folder(home.folder / "artifacts", 1, 2);
  const auto registry = home.open();
  REQUIRE(publishes(*registry, cubin_of(1)));
  fs::remove_all(home.home);
  std::vector<Error> errors;
  const auto add = [&](const auto& result) {
    REQUIRE_FALSE(result);
    errors.push_back(result.error());
  };
  add(registry->publish(cubin_of(2)));
  add(registry->remove({cubin_of(1).record}));
  add(registry->sweep());
  add(registry->repair());
  add(registry->pin(KernelKey{1}));
  add(registry->set_limit(SizeLimit{2, 1}));
  add(registry->add_tuning({}));
  add(registry->imports().publish(folder.content));
  add(registry->downloads().keep(sha256({}), {}));
  add(registry->downloads().change("place", [](KnownChannel&) {}));
  for (const Error& error : errors) {
    CHECK_MESSAGE(error.code == ErrorCode::unavailable, error.to_line());
    CHECK_MESSAGE(error.message.find("was removed while it was in use") != std::string::npos,
                  error.to_line());
  }
  CHECK_FALSE(fs::exists(home.home));
  CHECK(registry->find(cubin_of(1).record->identity.kernel())->empty());
  CHECK(serves(*home.open(), cubin_of(1)) == false);
}

TEST_CASE("a home that loses a folder while it is used is an error of the environment") {
  HomeFixture home;
  const auto registry = home.open();
  REQUIRE(publishes(*registry, cubin_of(1)));
  fs::remove_all(home.home / "locks");
  const auto published = registry->publish(cubin_of(2));
  CHECK(published.error().code == ErrorCode::io);
  CHECK(published.error().message.find("cannot open the folder") != std::string::npos);
}

TEST_CASE("what could not be read back is not published") {
  HomeFixture home;
  auto registry = home.open();
  Cubin cubin = cubin_of(1);
  auto record = std::make_shared<CubinRecord>(*cubin.record);
  record->warnings.assign(kMaximumRecordBytes, 'w');
  cubin.record = record;
  CHECK(registry->publish(cubin).error().code == ErrorCode::invalid_argument);
  CHECK(registry->list()->empty());
  CHECK(registry->verify()->findings.empty());
}

}  // namespace
}  // namespace cubinet::test
