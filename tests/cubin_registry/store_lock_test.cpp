// SPDX-License-Identifier: Apache-2.0
#include "local/store_lock.hpp"

#include "cubin_registry/fault_injection.hpp"
#include "cubin_registry/home_fixture.hpp"

#include <atomic>
#include <cerrno>
#include <thread>

namespace cubinet::test {
namespace {

using Sharing = FileSystem::Sharing;
using std::chrono::milliseconds;

struct LockFixture {
  TempDir folder;
  LogLines log;
  LogSink sink = log.sink();
  std::shared_ptr<FileSystem> files = posix_file_system();
  std::filesystem::path path = folder / "lock";

  Result<std::unique_ptr<FileLock>> take(Sharing sharing) {
    return lock_within(*files, path, sharing, milliseconds(20), sink);
  }
};

TEST_CASE("shared locks go together, an exclusive one goes alone, and waiting ends") {
  LockFixture fixture;
  auto first = fixture.take(Sharing::shared);
  auto second = fixture.take(Sharing::shared);
  REQUIRE((first && *first && second && *second));
  const auto refused = fixture.take(Sharing::exclusive);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::busy);
  CHECK_FALSE(refused.error().remedy.empty());
  first->reset();
  second->reset();
  auto alone = fixture.take(Sharing::exclusive);
  REQUIRE((alone && *alone));
  CHECK_FALSE(fixture.take(Sharing::shared).has_value());
}

TEST_CASE("a store lock changes its mind, and is released with it") {
  LockFixture fixture;
  {
    StoreLock lock(*fixture.files, fixture.path, fixture.sink);
    CHECK_FALSE(lock.held());
    CHECK_FALSE(std::filesystem::exists(fixture.path));
    REQUIRE(lock.share());
    CHECK(fixture.take(Sharing::shared).has_value());
    REQUIRE(lock.exclude());
    CHECK((lock.exclusive() && lock.real()));
    CHECK_FALSE(fixture.take(Sharing::shared).has_value());
    REQUIRE(lock.share());
    CHECK(fixture.take(Sharing::shared).has_value());
  }
  CHECK(fixture.take(Sharing::exclusive).has_value());
}

TEST_CASE("where there are no locks one goes on without, and says so") {
  LockFixture fixture;
  auto plan = std::make_shared<FaultPlan>();
  fixture.files = faulty_file_system(plan);
  plan->set(FaultPlan::Kind::error_from_then_on, 1, ENOLCK);
  auto lock = fixture.take(Sharing::exclusive);
  REQUIRE(lock);
  CHECK(*lock == nullptr);
  CHECK(fixture.log.count("without a lock") == 1);
  StoreLock store(*fixture.files, fixture.path, fixture.sink);
  REQUIRE(store.exclude());
  CHECK((store.exclusive() && !store.real()));
}

TEST_CASE("a lock file that cannot be opened is an error, not a place without locks") {
  LockFixture fixture;
  auto plan = std::make_shared<FaultPlan>();
  fixture.files = faulty_file_system(plan);
  for (const int error_number : {ENOSPC, EIO, EMFILE, EACCES}) {
    plan->set(FaultPlan::Kind::error_from_then_on, 1, error_number);
    CHECK(fixture.take(Sharing::exclusive).error().native == error_number);
    StoreLock store(*fixture.files, fixture.path, fixture.sink);
    CHECK_FALSE(store.exclude());
    CHECK_FALSE(store.held());
  }
}

TEST_CASE("a registry without locks publishes, finds and removes") {
  HomeFixture home;
  home.open();
  auto plan = std::make_shared<FaultPlan>();
  HomeOptions options = home.options();
  options.files = faulty_file_system(plan);
  // The first lock that is asked for fails, and every call after it goes through.
  for (unsigned at = 1; at < 40; ++at) {
    auto registry = Home::open(options);
    REQUIRE(registry);
    plan->set(FaultPlan::Kind::error_once, at, ENOLCK);
    static_cast<void>((*registry)->publish(cubin_of(static_cast<int>(at))));
    plan->set(FaultPlan::Kind::none, 0);
    CHECK(publishes(**registry, cubin_of(static_cast<int>(at))));
    CHECK(serves(**registry, cubin_of(static_cast<int>(at))));
  }
}

TEST_CASE("a lock file that is removed while others wait for it does not let two in") {
  LockFixture fixture;
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<int> entries{0};
  const auto work = [&] {
    for (int i = 0; i < 200; ++i) {
      const auto lock =
          lock_within(*fixture.files, fixture.path, Sharing::exclusive, milliseconds(20'000), fixture.sink);
      REQUIRE((lock && *lock));
      const int now = ++inside;
      most = std::max(most.load(), now);
      ++entries;
      --inside;
      // From here on the next one locks a new file, and those who wait for this one must notice.
      static_cast<void>(fixture.files->remove(fixture.path));
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back(work);
  for (std::thread& thread : threads)
    thread.join();
  CHECK(most == 1);
  CHECK(entries == 800);
}

}  // namespace
}  // namespace cubinet::test
