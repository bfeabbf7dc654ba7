// SPDX-License-Identifier: Apache-2.0
#include "kept_runtime.hpp"

#include "api/device_fixture.hpp"
#include "c_api/c_fixture.hpp"

#include <doctest/doctest.h>

#include <thread>

using namespace cubinet;
using namespace cubinet::test;
using namespace cubinet::tvm_ffi;

namespace {

cubinet_attention_problem small() {
  cubinet_attention_problem problem = CUBINET_ATTENTION_PROBLEM_INIT;
  problem.kv_len = 64;
  return problem;
}

struct Kept {
  TempDir folder;
  CConfig config = test_config(folder, kScaleTemplate);
  std::shared_ptr<KeptRuntime> runtime =
      std::make_shared<KeptRuntime>(RuntimeHandle(cubinet::test::make_runtime(config).release()));
};

}  // namespace

TEST_CASE("a plan is named by every member that the functions set, and by the device") {
  const cubinet_plan_options usual = CUBINET_PLAN_OPTIONS_INIT;
  const cubinet_attention_problem problem = small();
  const PlanKey key = key_of(problem, usual, 0);
  CHECK(key_of(problem, usual, 1) != key);
  cubinet_plan_options split = usual;
  split.splits = 2;
  CHECK(key_of(problem, split, 0) != key);
  const auto changed = [&](auto member, auto value) {
    cubinet_attention_problem other = problem;
    other.*member = value;
    return key_of(other, usual, 0) != key;
  };
  using P = cubinet_attention_problem;
  for (const auto member : {&P::batch, &P::q_len, &P::kv_len, &P::heads_q, &P::heads_kv, &P::head_dim_qk,
                            &P::head_dim_v, &P::page_size, &P::window, &P::flags, &P::rope_dim})
    CHECK(changed(member, 77U));
  for (const auto member : {&P::type_q, &P::type_kv, &P::type_o, &P::kv_order, &P::mask, &P::append_type})
    CHECK(changed(member, 77));
  for (const auto member : {&P::softmax_scale, &P::soft_cap, &P::output_scale})
    CHECK(changed(member, 0.25));
}

TEST_CASE("a problem is planned once, also by several threads, and its workspace is shared on a stream") {
  const Kept kept;
  const cubinet_plan_options usual = CUBINET_PLAN_OPTIONS_INIT;
  std::vector<std::shared_ptr<const Plan>> plans(4);
  std::vector<std::thread> threads;
  for (auto& plan : plans)
    threads.emplace_back([&] { plan = kept.runtime->plan(small(), usual, 0).value_or(nullptr); });
  for (std::thread& thread : threads)
    thread.join();
  REQUIRE(plans[0] != nullptr);
  for (const auto& plan : plans)
    CHECK(plan == plans[0]);
  CHECK(plans[0]->roles.size() == 28);
  int streams[2] = {};
  const auto first = kept.runtime->workspace(*plans[0], 0, &streams[0]);
  REQUIRE(first);
  CHECK(*kept.runtime->workspace(*plans[0], 0, &streams[0]) == *first);
  CHECK(*kept.runtime->workspace(*plans[0], 0, &streams[1]) != *first);
}

TEST_CASE("a problem that no kernel serves is an error and is not kept") {
  const Kept kept;
  cubinet_attention_problem problem = small();
  problem.head_dim_qk = 12345;
  const cubinet_plan_options usual = CUBINET_PLAN_OPTIONS_INIT;
  CHECK(!kept.runtime->plan(problem, usual, 0));
  CHECK(!kept.runtime->plan(problem, usual, 0));
  CHECK(kept.runtime->plan(small(), usual, 0));
}

TEST_CASE("a runtime that is closed during a call ends after it") {
  Kept kept;
  const std::weak_ptr<KeptRuntime> watched = kept.runtime;
  const std::int64_t number = keep(std::move(kept.runtime));
  auto in_use = runtime_of(number);
  REQUIRE(in_use);
  REQUIRE(drop(number));
  CHECK(!runtime_of(number));
  CHECK(!drop(number));
  CHECK_FALSE(watched.expired());
  *in_use = nullptr;
  CHECK(watched.expired());
}
