// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/session/planner_cache.hpp>

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace cubinet;
using test::ok;

namespace {

const DeviceFacts kDevice{{9, 0}, 132, 0};

struct CachedPlanners {
  CachedPlanners() {
    HomeOptions options;
    options.path = (folder / "home").string();
    home = ok(Home::open(options));
    RuntimeOptions runtime_options;
    runtime_options.stores = {home};
    runtime = ok(Runtime::create(std::move(runtime_options)));
  }

  test::TempDir folder;
  std::shared_ptr<Home> home;
  std::shared_ptr<Runtime> runtime;
};

}  // namespace

TEST_CASE_FIXTURE(CachedPlanners, "a planner is kept for each device until the stores change") {
  PlannerCache cache(*runtime);
  const PlannerCache::Found first = ok(cache.find(kDevice, "one"));
  CHECK(first.fresh);
  const PlannerCache::Found again = ok(cache.find(kDevice, "one"));
  CHECK(again.planner == first.planner);
  CHECK_FALSE(again.fresh);
  CHECK(ok(cache.find(kDevice, "two")).planner != first.planner);
  CHECK(ok(cache.find({{9, 0}, 78, 0}, "one")).planner->device().sm_count == 78);
  const Cubin cubin = test::make_cubin(KernelSpec{"attention_decode", {}}, {}, "build");
  const auto changed_by = [&](const auto& change) {
    const auto before = ok(cache.find(kDevice, "one")).planner;
    change();
    const PlannerCache::Found after = ok(cache.find(kDevice, "one"));
    return after.fresh && after.planner != before;
  };
  CHECK(changed_by([&] { ok(home->publish(cubin)); }));
  CHECK(changed_by([&] { ok(home->remove({cubin.record})); }));
  CHECK(changed_by([&] { ok(home->add_tuning({})); }));
  const auto memory = std::dynamic_pointer_cast<WritableStore>(runtime->stores().front());
  CHECK(changed_by([&] { ok(memory->publish(cubin)); }));
  CHECK(changed_by([&] { ok(memory->remove({cubin.record})); }));
  CHECK(changed_by([&] { ok(row_table_of(*memory)->add_tuning({})); }));
  CHECK(changed_by([&] { cache.forget(); }));
  CHECK_FALSE(changed_by([&] { ok(home->list()); }));
}

TEST_CASE_FIXTURE(CachedPlanners, "a cache keeps few planners however many devices are named") {
  PlannerCache cache(*runtime);
  for (std::uint32_t sms = 1; sms <= 40; ++sms)
    CHECK(ok(cache.find({{9, 0}, sms, 0}, "")).fresh);
  CHECK_FALSE(ok(cache.find({{9, 0}, 40, 0}, "")).fresh);
  CHECK(ok(cache.find({{9, 0}, 1, 0}, "")).fresh);
}

TEST_CASE_FIXTURE(CachedPlanners, "threads find planners while the stores change") {
  PlannerCache cache(*runtime);
  const AttentionProblem problem{.batch = 4, .kv_len = 2048, .heads_q = 32, .heads_kv = 8};
  std::vector<std::thread> threads;
  std::atomic<int> planned{0};
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        const auto found = cache.find(kDevice, "");
        if (found && found->planner->plan(problem)) ++planned;
      }
    });
  }
  for (int i = 0; i < 10; ++i)
    ok(home->add_tuning({}));
  for (std::thread& thread : threads)
    thread.join();
  CHECK(planned == 40);
}

TEST_CASE_FIXTURE(CachedPlanners, "a forked child gets an error and no planner of its parent") {
  PlannerCache cache(*runtime);
  ok(cache.find(kDevice, ""));
  const pid_t child = fork();
  if (child == 0) {
    cache.forget();
    const auto found = cache.find(kDevice, "");
    _exit(!found && found.error().code == ErrorCode::unsupported ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
