// SPDX-License-Identifier: Apache-2.0
#include "api/runtime_fixture.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/session.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

using namespace cubinet;
using test::ok;

namespace {

const AttentionProblem kProblem{.batch = 4, .kv_len = 2048, .heads_q = 32, .heads_kv = 8};

}  // namespace

TEST_CASE("a session without options plans attention for a device that is named, and needs no driver") {
  SessionOptions options;
  options.driver_library = "/absent/libcuda.so.1";
  const auto session = ok(Session::open(options));
  const AttentionResolution resolution = ok(session->plan(kProblem, ok(DeviceFacts::named("sm_90"))));
  REQUIRE(resolution.plan);
  CHECK(resolution.plan->launchable());
  CHECK(session->home() == nullptr);
  CHECK(session->device(0).error().code == ErrorCode::unavailable);
}

TEST_CASE("a session keeps the options that it was opened with and reads its template files") {
  const test::TempDir folder;
  test::write_file(folder / "scale.cu", as_bytes(test::kScaleTemplate));
  SessionOptions options;
  options.home = (folder / "home").string();
  options.template_files = {(folder / "scale.cu").string()};
  const auto session = ok(Session::open(options));
  CHECK(session->options().home == options.home);
  REQUIRE(session->home() != nullptr);
  CHECK(session->runtime().templates().find("scale"));
  options.template_files = {(folder / "absent.cu").string()};
  CHECK_FALSE(Session::open(options));
}

TEST_CASE("a session beside a home that may not be searched warns once and reads no catalogs") {
  const test::TempDir folder;
  std::filesystem::create_symlink("home", folder / "home");  // no user can follow it
  std::vector<std::string> warnings;
  SessionOptions options;
  options.driver_library = "/absent/libcuda.so.1";
  options.home = (folder / "home").string();
  options.log = [&](const LogRecord& record) {
    if (record.level >= LogLevel::warning) warnings.emplace_back(record.message);
  };
  CHECK_FALSE(Session::open(options));
  warnings.clear();
  options.home_required = false;
  CHECK(ok(Session::open(options))->home() == nullptr);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings.front().find("the home is not used") != std::string::npos);
}

TEST_CASE("a session with a folder to record into leaves a workload there when it ends") {
  const test::TempDir folder;
  SessionOptions options;
  options.record_folder = folder.path().string();
  ok(Session::open(options)).reset();
  const auto file = std::filesystem::directory_iterator(folder.path());
  const Workload recorded = ok(Workload::read(file->path().string()));
  CHECK(recorded.empty());
  REQUIRE(recorded.recordings().size() == 1);
  CHECK(recorded.recordings().begin()->first + ".workload" == file->path().filename().string());
}

TEST_CASE("a plan that nothing can compile is the one that needs no compilation, if there is one") {
  SessionOptions options;
  options.compile = CompilePolicy::never;
  const auto session = ok(Session::open(options));
  CHECK_FALSE(session->runtime().can_compile());
  const AttentionResolution resolution = ok(session->plan(kProblem, ok(DeviceFacts::named("sm_90"))));
  REQUIRE(resolution.plan);
  CHECK_FALSE(resolution.plan->exists());  // no build exists at all, so the plan stays the best one
}

TEST_CASE("a problem that makes no sense is invalid, and a device without a usual count too") {
  const auto session = ok(Session::open({}));
  AttentionProblem wrong = kProblem;
  wrong.heads_kv = 5;
  CHECK(session->plan(wrong, ok(DeviceFacts::named("sm_90"))).error().code == ErrorCode::invalid_argument);
  CHECK(DeviceFacts::named("sm_86").error().code == ErrorCode::invalid_argument);
  CHECK(ok(DeviceFacts::named("8.6", 84)).sm_count == 84);
}
