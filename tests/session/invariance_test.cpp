// SPDX-License-Identifier: Apache-2.0
#include "benchmark_setting.hpp"
#include "support/text.hpp"

#include <cubinet/session/invariance.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

using namespace cubinet;
using test::BenchmarkSetting;
using test::contains;
using test::ok;
using test::small_case;

namespace {

BenchmarkOptions options_of(std::vector<BenchmarkCase> cases) {
  BenchmarkOptions options;
  options.rounds = 2;
  options.cases = std::move(cases);
  return options;
}

}  // namespace

TEST_CASE("a device that computes nothing is found out by the timed runs, with all stages compared") {
  const BenchmarkSetting setting;
  if (setting.stub.missing()) return;
  BenchmarkCase prefill = small_case();
  prefill.problem.prefill = true;
  prefill.problem.q_len = 40;
  std::size_t rows = 0;
  const InvarianceResult result =
      ok(compare_bits(*setting.session, options_of({small_case(), prefill, small_case(112)}),
                      [&](const InvarianceRow&) { ++rows; }));
  CHECK(rows == 2);  // the second case compares the same as the first
  REQUIRE(result.rows.size() == 2);
  const InvarianceRow& row = result.rows[0];
  REQUIRE_FALSE(row.error.has_value());
  REQUIRE(row.subjects.size() == 2);
  CHECK(row.subjects[0].name == "invariant");
  CHECK(row.subjects[0].stages.size() == 6);  // no chunks of 512 and 1000
  REQUIRE(row.times.size() == 3);
  CHECK(row.times[0].fast.size() == 2);
  CHECK(row.times[0].invariant.seconds.size() == 2);
  CHECK_FALSE(row.times[0].correct);
  CHECK_FALSE(row.good());
  REQUIRE(result.rows[1].error.has_value());
  CHECK(result.rows[1].error->code == ErrorCode::unsupported);
}

TEST_CASE("a problem without invariant numerics is a row with the reason") {
  const BenchmarkSetting setting;
  if (setting.stub.missing()) return;
  BenchmarkCase narrow = small_case();
  narrow.problem.data_type_k = narrow.problem.data_type_v = DataType::e4m3;
  const InvarianceResult result = ok(compare_bits(*setting.session, options_of({narrow})));
  REQUIRE(result.rows.size() == 1);
  REQUIRE(result.rows[0].error.has_value());
  CHECK(result.rows[0].error->code == ErrorCode::unsupported);
  CHECK(contains(result.rows[0].error->message, "invariant"));
  CHECK_FALSE(result.good());
}

TEST_CASE("a peer gets every run as files, and one that answers other bytes loses its rows") {
  const BenchmarkSetting setting;
  if (setting.stub.missing()) return;
  const test::TempDir folder;
  BenchmarkOptions options = options_of({small_case()});
  options.rounds = 1;
  options.peer_folder = folder.path().string();
  options.peer_environment = {"PATH=/usr/bin:/bin"};
  // Each of these writes an output as large as its Q. The first peer's is constant, the second's
  // is that Q: other tokens have other bits, and the same token the same ones.
  const auto peer = [&](const std::string& output) {
    return "while read l; do echo \"$l\" >>'" + folder.path().string() +
           "/questions'; case \"$l\" in *kv_lengths*) echo '{\"ready\": \"it\"}';; *output*) cd '" +
           folder.path().string() + "'; " + output +
           "; echo '{\"written\": \"it\"}';; *) echo '{\"seconds\": 50}';; " + "esac; done";
  };
  options.peers = {{"Constant", peer("head -c $(wc -c <q) /dev/zero >output")},
                   {"Own", peer("cp q output")},
                   {"Random", peer("head -c $(wc -c <q) /dev/urandom >output")},
                   {"Short", peer("head -c 2 q >output")}};
  const InvarianceResult result = ok(compare_bits(*setting.session, options));
  REQUIRE(result.rows.size() == 1);
  REQUIRE_FALSE(result.rows[0].error.has_value());
  REQUIRE(result.rows[0].subjects.size() == 6);
  CHECK(result.rows[0].subjects[2].keeps_bits());
  CHECK(result.rows[0].subjects[3].keeps_bits());
  const InvarianceSubject& random = result.rows[0].subjects[4];
  CHECK_FALSE(random.keeps_bits());
  for (const InvarianceStage& stage : random.stages)
    CHECK(stage.equal < stage.rows);
  REQUIRE(result.rows[0].subjects[5].error.has_value());
  CHECK(contains(result.rows[0].subjects[5].error->message, "2 bytes"));
  REQUIRE(result.rows[0].times[0].invariant.peers.size() == 4);
  CHECK(result.rows[0].times[0].invariant.peers[0].seconds == std::vector<double>{50});
  // The stage "decode" computes a row of each of the ends 1 and 40, which are sent as lengths.
  std::ifstream file(folder / "questions");
  const std::string questions((std::istreambuf_iterator<char>(file)), {});
  CHECK(contains(questions, "\"mean_kv_length\":1.0"));
  CHECK(contains(questions, "\"mean_kv_length\":40.0"));
  CHECK_FALSE(contains(questions, "\"mean_kv_length\":0.0"));
}

TEST_CASE("options that cannot be compared are refused before anything runs") {
  const BenchmarkSetting setting;
  if (setting.stub.missing()) return;
  BenchmarkOptions options = options_of({small_case()});
  options.cases[0].where = "'s.txt', line 2";
  options.cases[0].problem.mask = AttentionMask::dense;
  const auto dense = compare_bits(*setting.session, options);
  REQUIRE_FALSE(dense);
  CHECK(dense.error().code == ErrorCode::invalid_argument);
  CHECK(contains(dense.error().message, "'s.txt', line 2"));
  options = options_of({small_case()});
  options.peers = {{"P", "cat"}};
  CHECK(contains(compare_bits(*setting.session, options).error().message, "BenchmarkOptions::peer_folder"));
  options.peers.clear();
  options.rounds = 0;
  CHECK(contains(compare_bits(*setting.session, options).error().message, "BenchmarkOptions::rounds"));
}
