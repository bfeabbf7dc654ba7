// SPDX-License-Identifier: Apache-2.0
#include "api/device_fixture.hpp"
#include "support/compiler_search.hpp"
#include "support/measured_row.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/session/tune.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>

using namespace cubinet;
using test::ok;

namespace {

// A session with a home on the stub device, which measures nothing in no time.
struct TuneSetting {
  test::Stub stub;
  test::TempDir folder;
  SessionOptions options;
  std::shared_ptr<Session> session;

  TuneSetting() {
    options.home = (folder / "home").string();
    options.compiler = test::compiler_search();
    if (const char* library = std::getenv("CUBINET_TEST_DRIVER")) options.driver_library = library;
    session = ok(Session::open(options));
  }
  static AttentionProblem problem(std::uint32_t batch, std::uint32_t head_dim = 64) {
    return {.batch = batch,
            .kv_len = 40,
            .heads_q = 4,
            .heads_kv = 2,
            .head_dim_qk = head_dim,
            .head_dim_v = head_dim,
            .tokens_per_page = 16};
  }
};

}  // namespace

TEST_CASE("each problem is measured once and kept, and the error of one does not stop the others") {
  const TuneSetting setting;
  if (setting.stub.missing()) return;
  AttentionProblem appends = TuneSetting::problem(1);
  appends.append.emplace();
  TuneOptions options;
  options.budget_seconds = 1e-6;
  options.problems = {{TuneSetting::problem(1)},
                      {appends},
                      {TuneSetting::problem(1, 112), "line 3"},
                      {TuneSetting::problem(2)}};
  std::vector<std::size_t> done;
  options.progress = [&](const TuneProgress& progress) {
    CHECK(progress.total == 3);
    done.push_back(progress.done);
  };
  const TuneResult result = ok(tune(*setting.session, options));
  CHECK(done == std::vector<std::size_t>{1, 2, 3});
  REQUIRE(result.problems.size() == 3);
  CHECK(result.problems[0].row.has_value());
  REQUIRE(result.problems[1].error.has_value());
  CHECK(result.problems[1].error->message.starts_with("line 3: "));
  CHECK(result.problems[2].row->batch == 2);
  CHECK_FALSE(result.complete());
  CHECK_FALSE(result.cancelled);
  CHECK(result.place == setting.options.home);
  const auto document = nlohmann::json::parse(to_json(result));
  CHECK(document["results"].size() == 3);
  CHECK(document["results"][0]["kernel"]["template"] == "attention_decode");
  CHECK(document["results"][1]["error"]["code"] == "unsupported");
  CHECK_FALSE(document.contains("cancelled"));
  const Measurements kept = ok(list_measurements(*setting.session));
  CHECK(kept.table.rows().size() == 2);
  CHECK(kept.stale.empty());
}

TEST_CASE("over a shared prefix two problems are measured, or the reason is stated once") {
  const TuneSetting setting;
  if (setting.stub.missing()) return;
  AttentionProblem window = TuneSetting::problem(2);
  window.window = 20;
  TuneOptions options;
  options.budget_seconds = 1e-6;
  options.problems = {
      {TuneSetting::problem(2), "", 30}, {window, "line 2", 30}, {TuneSetting::problem(2), "", 30}};
  const auto listed = ok(tune_candidates(*setting.session, options));
  REQUIRE(listed.size() == 3);
  CHECK(listed[0].problem.kv_len == 10);
  CHECK(listed[1].problem.kv_len == 30);
  CHECK(listed[1].problem.q_len == 2);  // the query tokens of both sequences
  CHECK(listed[1].plans.size() > 1);
  REQUIRE(listed[2].error);
  CHECK(listed[2].error->message.starts_with("line 2: "));
  const TuneResult result = ok(tune(*setting.session, options));
  REQUIRE(result.problems.size() == 3);
  CHECK(result.problems[0].row.has_value());
  CHECK(result.problems[1].row.has_value());
  CHECK(result.problems[2].error->code == ErrorCode::unsupported);
  CHECK_FALSE(result.complete());
}

TEST_CASE("measurements that are cancelled end, and those that were finished are kept") {
  const TuneSetting setting;
  if (setting.stub.missing()) return;
  TuneOptions options;
  options.budget_seconds = 1e-6;
  options.table_file = setting.folder / "t.tuning";
  options.problems = {{TuneSetting::problem(1)}, {TuneSetting::problem(2)}};
  bool first_done = false;
  options.progress = [&](const TuneProgress&) { first_done = true; };
  options.cancelled = [&] { return first_done; };
  const TuneResult result = ok(tune(*setting.session, options));
  CHECK(result.cancelled);
  CHECK_FALSE(result.complete());
  CHECK(result.problems.size() == 1);
  CHECK(nlohmann::json::parse(to_json(result))["cancelled"] == true);
  CHECK(ok(list_measurements(*setting.session, options.table_file)).table.rows().size() == 1);
  CHECK(ok(list_measurements(*setting.session)).table.rows().empty());
}

TEST_CASE("the candidates of a problem are listed, or the reason that there are none") {
  const TuneSetting setting;
  if (setting.stub.missing()) return;
  TuneOptions options;
  options.problems = {{TuneSetting::problem(2)}, {TuneSetting::problem(2, 112), "line 2"}};
  const auto listed = ok(tune_candidates(*setting.session, options));
  REQUIRE(listed.size() == 2);
  CHECK(listed[0].plans.size() > 3);
  CHECK_FALSE(listed[0].error);
  REQUIRE(listed[1].error);
  CHECK(listed[1].error->message.starts_with("line 2: "));
  const auto document = nlohmann::json::parse(to_json(listed));
  CHECK(document["results"][0]["candidates"].size() == listed[0].plans.size());
  CHECK(document["results"][1]["error"]["code"] == "unsupported");
}

TEST_CASE("tables are merged into a home, and rows of another version of a template are stale") {
  const TuneSetting setting;
  const auto files = posix_file_system();
  for (const std::uint32_t batch : {1U, 2U}) {
    const auto table = test::table_of(test::measured_row(batch));
    ok(write_file_atomically(*files, setting.folder / std::to_string(batch), table.encode()));
  }
  const std::vector<std::string> tables = {setting.folder / "1", setting.folder / "2"};
  const MergedMeasurements merged = ok(merge_measurements(setting.options, tables));
  CHECK(merged.merged == 2);
  CHECK(merged.place == setting.options.home);
  CHECK(nlohmann::json::parse(to_json(merged))["merged"] == 2);
  const auto session = ok(Session::open(setting.options));
  const Measurements kept = ok(list_measurements(*session));
  CHECK(kept.stale == std::vector<std::size_t>{0, 1});
  const auto document = nlohmann::json::parse(to_json(kept));
  CHECK(document["stale"] == 2);
  CHECK(document["rows"].size() == 2);
  CHECK(document["digest"] == kept.table.digest().to_hex());
  CHECK_FALSE(merge_measurements(setting.options, {setting.folder / "absent"}));
}

TEST_CASE("a device that does not exist is one error and not one of each problem") {
  const TuneSetting setting;
  TuneOptions options;
  options.problems = {{TuneSetting::problem(1)}};
  options.device = 99;
  CHECK_FALSE(tune(*setting.session, options));
  CHECK_FALSE(tune_candidates(*setting.session, options));
}
