// SPDX-License-Identifier: Apache-2.0
// Session::attention for plans that may load nothing.
#include "api/device_fixture.hpp"
#include "attention/problems.hpp"
#include "support/compiler_search.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/caller_label.hpp>
#include <cubinet/session.hpp>

#include <doctest/doctest.h>

#include <cstdlib>

using namespace cubinet;
using namespace cubinet::test;

namespace {

struct Setting {
  TempDir folder;
  std::shared_ptr<Session> session;
  std::shared_ptr<const Device> device;

  Setting() {
    SessionOptions options;
    options.home = (folder / "home").string();
    options.compiler.toolkit_roots = {cuda_root()};
    if (const char* library = std::getenv("CUBINET_TEST_DRIVER")) options.driver_library = library;
    session = ok(Session::open(options));
    device = ok(session->device(0));
  }

  std::string kernel_of(const BoundAttention& bound) const {
    const AttentionPlan& plan = bound.plan();
    return std::get<KernelSpec>(plan.steps[plan.attention_step()].kernel).to_string();
  }
};

// Their best kernels differ in the tile.
const AttentionProblem kFewRows = generation(1, 1, 256, 8, 4);
const AttentionProblem kManyRows = generation(64, 8, 4096, 8, 4);

}  // namespace

TEST_CASE("a plan that may load nothing takes a loaded kernel where the best one is not loaded") {
  const Setting setting;
  PlanOptions loaded_only;
  loaded_only.may_load = false;
  const auto nothing = setting.session->attention(kManyRows, setting.device, loaded_only);
  REQUIRE_FALSE(nothing);
  CHECK(nothing.error().code == ErrorCode::not_found);
  const BoundAttention few = ok(setting.session->attention(kFewRows, setting.device));
  const auto compiled = setting.session->runtime().counters().compiled;
  const BoundAttention many = ok(setting.session->attention(kManyRows, setting.device, loaded_only));
  CHECK(setting.kernel_of(many) == setting.kernel_of(few));
  CHECK(setting.session->runtime().counters().compiled == compiled);
  const BoundAttention best = ok(setting.session->attention(kManyRows, setting.device));
  CHECK(setting.kernel_of(best) != setting.kernel_of(few));
  const BoundAttention now = ok(setting.session->attention(kManyRows, setting.device, loaded_only));
  CHECK(setting.kernel_of(now) == setting.kernel_of(best));
}

TEST_CASE("rows of loaded kernels are those of rows whose builds a request would hit") {
  const Setting setting;
  Runtime& runtime = setting.session->runtime();
  CHECK(ok(runtime.loaded_rows(0)).rows.empty());
  const BoundAttention few = ok(setting.session->attention(kFewRows, setting.device));
  const DeviceRows loaded = ok(runtime.loaded_rows(0));
  REQUIRE_FALSE(loaded.rows.empty());
  CHECK(loaded.rows.size() <= ok(runtime.rows({9, 0})).rows.size());
  const KernelSpec spec = std::get<KernelSpec>(few.plan().steps[0].kernel);
  REQUIRE(runtime.release(*ok(runtime.resolve(spec)), 0));
  CHECK(ok(runtime.loaded_rows(0)).rows.size() < loaded.rows.size());
  CHECK(runtime.loaded_rows(77).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("a frozen session plans from its loaded kernels, reads no store and counts what it refuses") {
  const Setting setting;
  Session& session = *setting.session;
  Runtime& runtime = session.runtime();
  const BoundAttention few = ok(session.attention(kFewRows, setting.device));
  REQUIRE(runtime.freeze());
  std::filesystem::remove_all(setting.folder / "home");
  const auto counted = runtime.counters();
  CHECK(setting.kernel_of(ok(session.attention(kFewRows, setting.device))) == setting.kernel_of(few));
  // The best kernel of this problem is not loaded.
  CHECK(setting.kernel_of(ok(session.attention(kManyRows, setting.device))) == setting.kernel_of(few));
  CHECK(runtime.refusals()->entries.empty());
  AttentionProblem other = kFewRows;
  other.data_type_q = other.data_type_k = other.data_type_v = other.data_type_o = DataType::fp16;
  const auto refused = session.attention(other, setting.device);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::not_found);
  CHECK(refused.error().message.find("the Runtime is frozen") != std::string::npos);
  CHECK(runtime.refusals()->entries.size() == 1);
  const auto now = runtime.counters();
  CHECK(now.compiled == counted.compiled);
  CHECK(now.stores.at(1).asked == counted.stores.at(1).asked);
}

TEST_CASE("a frozen session takes a plan of one kernel where the one that combines is not loaded") {
  const Setting setting;
  Session& session = *setting.session;
  Runtime& runtime = session.runtime();
  const AttentionProblem split = generation(1, 1, 2048, 64, 8);
  const BoundAttention two = ok(session.attention(split, setting.device));
  REQUIRE(two.plan().steps.size() == 2);
  const std::string kernel = setting.kernel_of(two);
  REQUIRE(runtime.release(*ok(runtime.resolve(std::get<KernelSpec>(two.plan().steps[1].kernel))), 0));
  REQUIRE(runtime.freeze());
  const BoundAttention one = ok(session.attention(split, setting.device));
  CHECK(one.plan().steps.size() == 1);
  CHECK(setting.kernel_of(one) == kernel);
  CHECK(runtime.refusals()->entries.empty());
}

TEST_CASE(
    "a frozen session counts attention without a plan, unless the problem is wrong or may load nothing") {
  const Setting setting;
  Session& session = *setting.session;
  Runtime& runtime = session.runtime();
  AttentionProblem unserved = kFewRows;
  unserved.head_dim_qk = unserved.head_dim_v = 112;
  AttentionProblem wrong = kFewRows;
  wrong.heads_kv = 3;
  const auto refused = [&] { return ok(runtime.refusals()).entries; };
  CHECK_FALSE(session.attention(unserved, setting.device));
  REQUIRE(runtime.freeze());
  CHECK(refused().empty());
  CHECK(session.attention(wrong, setting.device).error().code == ErrorCode::invalid_argument);
  PlanOptions loaded_only;
  loaded_only.may_load = false;
  CHECK_FALSE(session.attention(unserved, setting.device, loaded_only));
  CHECK(refused().empty());
  const CallerLabel label("decode");
  CHECK(session.attention(unserved, setting.device).error().code == ErrorCode::unsupported);
  CHECK_FALSE(session.attention(unserved, setting.device));
  REQUIRE(refused().size() == 1);
  CHECK(refused()[0].kernel.starts_with("attention (decode) of batch 1"));
  CHECK(refused()[0].caller == "decode");
  CHECK(refused()[0].device == 0);
  CHECK(refused()[0].count == 2);
}

TEST_CASE("a session without a plan before the freeze plans from the rows that the freeze read") {
  TempDir folder;
  SessionOptions options;
  options.home = (folder / "home").string();
  options.compiler.toolkit_roots = {cuda_root()};
  if (const char* library = std::getenv("CUBINET_TEST_DRIVER")) options.driver_library = library;
  KernelSpec kernel;
  {
    const auto builder = ok(Session::open(options));
    const BoundAttention bound = ok(builder->attention(kFewRows, ok(builder->device(0))));
    kernel = std::get<KernelSpec>(bound.plan().steps[bound.plan().attention_step()].kernel);
    for (const PlanStep& step : bound.plan().steps)
      CHECK(std::holds_alternative<KernelSpec>(step.kernel));
  }
  const auto session = ok(Session::open(options));
  const BoundAttention before = ok(session->attention(kFewRows, ok(session->device(0))));
  REQUIRE(session->runtime().freeze());
  std::filesystem::remove_all(folder / "home");
  const BoundAttention bound = ok(session->attention(kFewRows, ok(session->device(0))));
  CHECK(std::get<KernelSpec>(bound.plan().steps[bound.plan().attention_step()].kernel) == kernel);
  // After a thaw the stores are read again.
  REQUIRE(session->runtime().thaw());
  CHECK(ok(session->attention(kManyRows, ok(session->device(0)))).plan().steps.size() > 0);
}
