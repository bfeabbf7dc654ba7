// SPDX-License-Identifier: Apache-2.0
#include "support/compiler_search.hpp"
#include "support/ok.hpp"

#include <cubinet/session/needed_builds.hpp>
#include <cubinet/session/open_stores.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using test::ok;

namespace {

const AttentionProblem kDecode{.batch = 4, .kv_len = 2048, .heads_q = 32, .heads_kv = 8};

std::shared_ptr<Runtime> runtime_with(const CompilerSearch& search) {
  SessionOptions session;
  session.compiler = search;
  return ok(make_runtime(session, {}, ok(TemplateCatalog::builtin())));
}

}  // namespace

TEST_CASE("problems need the builds of their plans, each once, for the best target of the device") {
  const auto runtime = runtime_with(test::compiler_search());
  DeviceRequest request{ok(DeviceFacts::named("sm_90", 132))};
  CHECK(ok(builds_needed(*runtime, request)).builds.empty());
  request.problems = {{"the first", kDecode}, {"the same", kDecode}};
  const NeededBuilds needed = ok(builds_needed(*runtime, request));
  CHECK(needed.unserved.empty());
  REQUIRE_FALSE(needed.builds.empty());
  CHECK(needed.builds.front().target.target.capability() == ComputeCapability{9, 0});
  request.problems.pop_back();
  CHECK(ok(builds_needed(*runtime, request)).builds.size() == needed.builds.size());
}

TEST_CASE("without a compiler and without builds every problem is unserved once") {
  CompilerSearch absent;
  absent.library = "/absent.so";
  const auto runtime = runtime_with(absent);
  DeviceRequest request{ok(DeviceFacts::named("sm_90", 132))};
  request.problems = {{"the first", kDecode}};
  const NeededBuilds needed = ok(builds_needed(*runtime, request));
  CHECK(needed.builds.empty());
  REQUIRE(needed.unserved.size() == 1);
  CHECK(needed.unserved.front().text == "the first");
}

TEST_CASE("a problem with shared prefixes needs the builds of both attentions and of the merge") {
  const auto runtime = runtime_with(test::compiler_search());
  SharedPrefixProblem shared;
  shared.own = kDecode;
  shared.prefix_len = 4096;
  DeviceRequest request{ok(DeviceFacts::named("sm_90", 132))};
  request.problems = {{"the own part", kDecode}};
  const std::size_t own = ok(builds_needed(*runtime, request)).builds.size();
  request.problems = {{"shared", kDecode, shared}};
  const NeededBuilds needed = ok(builds_needed(*runtime, request));
  CHECK(needed.unserved.empty());
  CHECK(needed.builds.size() >= own + 2);
  CHECK(needed.builds.back().spec.name == "attention_merge");
  request.problems.front().shared_prefix->own.chunk = 64;
  const NeededBuilds refused = ok(builds_needed(*runtime, request));
  CHECK(refused.builds.empty());
  REQUIRE(refused.unserved.size() == 1);
  CHECK(refused.unserved.front().reason.find("chunks") != std::string::npos);
}
