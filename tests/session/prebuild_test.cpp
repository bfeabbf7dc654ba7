// SPDX-License-Identifier: Apache-2.0
#include "support/compiler_search.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/session/prebuild.hpp>

#include <doctest/doctest.h>

#include <filesystem>

using namespace cubinet;
using test::ok;

namespace {

struct PrebuiltMatrix {
  PrebuiltMatrix() {
    session.home = (folder / "home").string();
    session.compiler = test::compiler_search();
    options.matrix = R"({"kernels": [{"template": "rms_norm",
        "parameters": {"hidden_size": [256, 512]}, "targets": ["sm_90a"]}]})";
    options.output = (folder / "b.bundle").string();
  }

  test::TempDir folder;
  SessionOptions session;
  PrebuildOptions options;
};

}  // namespace

TEST_CASE_FIXTURE(PrebuiltMatrix, "a matrix is compiled once, with progress, into a bundle and the home") {
  std::vector<PrebuildProgress> steps;
  options.progress = [&](const PrebuildProgress& step) {
    if (!step.kernel.empty()) steps.push_back(step);
  };
  const PrebuildResult first = ok(prebuild(session, options));
  CHECK_FALSE(first.error);
  CHECK(first.compiled() == 2);
  CHECK(first.bundle == options.output);
  CHECK(first.built.front().kernel.to_string() == "rms_norm(hidden_size=256) for sm_90a");
  REQUIRE(steps.size() == 2);
  CHECK(steps.back().done == 2);
  CHECK(steps.back().total == 2);
  CHECK(steps.front().outcome == "compiled");
  CHECK(steps.front().bytes > 0);
  CHECK(ok(ok(Bundle::open(options.output))->list()).size() == 2);
  const PrebuildResult again = ok(prebuild(session, options));
  CHECK(again.compiled() == 0);
  CHECK(again.built.size() == 2);
}

TEST_CASE_FIXTURE(PrebuiltMatrix, "a cancelled prebuild keeps what is done and continues the next time") {
  std::size_t done = 0;
  options.jobs = 1;
  options.progress = [&](const PrebuildProgress& step) { done = step.done; };
  options.cancelled = [&] { return done > 0; };
  const PrebuildResult stopped = ok(prebuild(session, options));
  CHECK(stopped.interrupted);
  REQUIRE(stopped.error);
  CHECK(stopped.error->code == ErrorCode::unavailable);
  CHECK(stopped.built.size() == 1);
  CHECK(stopped.bundle == options.output + ".partial");
  CHECK_FALSE(std::filesystem::exists(options.output));
  options.cancelled = {};
  const PrebuildResult rest = ok(prebuild(session, options));
  CHECK(rest.compiled() == 1);
  CHECK(rest.built.size() == 2);
  CHECK_FALSE(std::filesystem::exists(stopped.bundle));
}

TEST_CASE_FIXTURE(PrebuiltMatrix,
                  "refused combinations stop a prebuild before a home exists, or are skipped") {
  options.matrix = R"({"kernels": [{"template": "rms_norm",
      "parameters": {"hidden_size": [256, 257]}, "targets": ["sm_90a"]}]})";
  const PrebuildResult stopped = ok(prebuild(session, options));
  REQUIRE(stopped.error);
  CHECK(stopped.error->code == ErrorCode::invalid_argument);
  CHECK(stopped.refused.size() == 1);
  CHECK_FALSE(std::filesystem::exists(session.home));
  options.skip_refused = true;
  const PrebuildResult rest = ok(prebuild(session, options));
  CHECK_FALSE(rest.error);
  CHECK(rest.built.size() == 1);
  CHECK(rest.refused.size() == 1);
}

TEST_CASE_FIXTURE(PrebuiltMatrix, "problems add the kernels of their plans") {
  options.request.device = ok(DeviceFacts::named("sm_90", 132));
  options.request.problems = {
      {"decode", AttentionProblem{.batch = 4, .kv_len = 2048, .heads_q = 32, .heads_kv = 8}}};
  const PrebuildResult both = ok(prebuild(session, options));
  CHECK_FALSE(both.error);
  CHECK(both.built.size() > 2);
  CHECK(both.unserved.empty());
}

TEST_CASE_FIXTURE(PrebuiltMatrix, "without a matrix and problems, and for wrong ones, nothing is built") {
  for (const std::optional<std::string>& matrix :
       {std::optional<std::string>(), std::optional<std::string>(""), std::optional<std::string>("{}")}) {
    options.matrix = matrix;
    CHECK(prebuild(session, options).error().code == ErrorCode::invalid_argument);
  }
  CHECK_FALSE(std::filesystem::exists(session.home));
}
