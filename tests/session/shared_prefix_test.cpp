// SPDX-License-Identifier: Apache-2.0
#include "api/device_fixture.hpp"
#include "attention/problems.hpp"
#include "support/compiler_search.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/session.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <variant>

using namespace cubinet;
using namespace cubinet::test;

namespace {

struct PrefixSession {
  TempDir folder;
  std::shared_ptr<Session> session;
  std::shared_ptr<const Device> device;
  SharedPrefixProblem problem;

  PrefixSession() {
    SessionOptions options;
    options.home = (folder / "home").string();
    options.compiler.toolkit_roots = {cuda_root()};
    options.record = true;
    if (const char* library = std::getenv("CUBINET_TEST_DRIVER")) options.driver_library = library;
    session = ok(Session::open(options));
    device = ok(session->device(0));
    problem.own = generation(16, 1, 256, 8, 4);
    problem.prefix_len = 4096;
  }
};

}  // namespace

TEST_CASE("a session records both attentions over a shared prefix, and the merge, for a bundle") {
  const PrefixSession setting;
  const SharedPrefixAttention attention = ok(setting.session->attention(setting.problem, setting.device));
  CHECK(attention.problem() == setting.problem);
  std::size_t kernels = 0;
  std::vector<AttentionProblem> problems;
  for (const WorkloadEntry& entry : setting.session->recorded().entries()) {
    if (const auto* attended = std::get_if<WorkloadAttention>(&entry.work)) {
      problems.push_back(attended->problem);
    } else {
      CHECK(std::get<KernelSpec>(entry.work).name == "attention_merge");
      ++kernels;
    }
  }
  CHECK(kernels == 1);
  REQUIRE(problems.size() == 2);
  CHECK(problems[0] == attention.own().plan().request.problem);
  CHECK(problems[1] == attention.prefix().plan().request.problem);
  CHECK(problems[1].ragged_q);
}

TEST_CASE("a frozen session serves a shared prefix from loaded kernels, and refuses another") {
  const PrefixSession setting;
  const Session& session = *setting.session;
  ok(session.attention(setting.problem, setting.device));
  const auto compiled = session.runtime().counters().compiled;
  REQUIRE(session.runtime().freeze());
  ok(session.attention(setting.problem, setting.device));
  CHECK(session.runtime().counters().compiled == compiled);
  SharedPrefixProblem other = setting.problem;
  other.own.head_dim_qk = other.own.head_dim_v = 256;
  CHECK(session.attention(other, setting.device).error().code == ErrorCode::not_found);
  other = setting.problem;
  other.groups = 0;
  CHECK(session.attention(other, setting.device).error().code == ErrorCode::invalid_argument);
}
