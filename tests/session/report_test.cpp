// SPDX-License-Identifier: Apache-2.0
#include "benchmark/report.hpp"

#include "measured_row.hpp"
#include "support/text.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <map>

using namespace cubinet;
using test::contains;
using test::measured_row;

namespace {

// Returns the fields of a table of one line by their columns.
std::map<std::string, std::string> fields_of(const std::string& table) {
  std::vector<std::vector<std::string>> lines(1, {""});
  bool quoted = false;
  for (const char c : table) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      lines.back().emplace_back();
    } else if (c == '\n' && !quoted) {
      lines.push_back({""});
    } else {
      lines.back().back() += c;
    }
  }
  REQUIRE(lines.size() == 3);
  REQUIRE(lines[0].size() == lines[1].size());
  std::map<std::string, std::string> fields;
  for (std::size_t i = 0; i < lines[0].size(); ++i)
    fields[lines[0][i]] = lines[1][i];
  return fields;
}

}  // namespace

TEST_CASE("the middle of the rounds counts, of both kernels") {
  const auto described = describe(measured_row());
  CHECK(described["seconds"] == 2e-3);
  CHECK(described["share_of_read"] == 1.0);  // of the rounds 1, 0.25 and 1.5
  CHECK(described["teraflops"] == 2.0);
  CHECK(described["terabytes_per_second"] == 1.5);
  CHECK(described["kv_terabytes_per_second"] == 1.0);
  CHECK(described["correct"] == true);
  CHECK(described["rounds"]["seconds"].size() == 3);
}

TEST_CASE("a row states invariant numerics, which have other times") {
  BenchmarkRow row = measured_row();
  CHECK_FALSE(describe(row).contains("numerics"));
  row.given.problem.numerics = AttentionNumerics::invariant;
  CHECK(describe(row)["numerics"] == "invariant");
}

TEST_CASE("a row states the scales of KV heads") {
  BenchmarkRow row = measured_row();
  CHECK_FALSE(describe(row).contains("kv_scales"));
  row.given.problem.kv_scales = KvScales::head;
  CHECK(describe(row)["kv_scales"] == "head");
}

TEST_CASE("a table has the columns of the field, in milliseconds, and quotes what holds commas") {
  const auto fields = fields_of(to_csv(std::vector{measured_row()}, 42));
  CHECK(fields.at("median_time") == "2");
  CHECK(fields.at("std_time") == "1.52753");
  CHECK(fields.at("tflops") == "2");
  CHECK(fields.at("tb_per_sec") == "1.5");
  CHECK(fields.at("kv_tb_per_sec") == "1");
  CHECK(fields.at("backend") == "auto(templates)");
  CHECK(fields.at("resolved_backend") == "templates");
  CHECK(fields.at("case_tag") == "a name, with a comma");
  CHECK(fields.at("num_qo_heads") == "8");
  CHECK(fields.at("random_seed") == "42");
  CHECK(fields.at("result") == "correct");
  for (const char* name :
       {"routine", "s_qo", "s_kv", "head_dim_qk", "head_dim_vo", "head_dim_ckv", "head_dim_kpe", "causal",
        "q_dtype", "kv_dtype", "avg_actual_seq_len", "random_actual_seq_len", "batch_size", "out_dtype",
        "num_kv_heads", "page_size", "enable_pdl", "refcheck", "no_cuda_graph"}) {
    CAPTURE(name);
    CHECK(fields.contains(name));
  }
}

TEST_CASE("a table states what makes equal shapes other cases") {
  BenchmarkRow row = measured_row();
  auto fields = fields_of(to_csv(std::vector{row}, 1));
  CHECK(fields.at("shared_prefix").empty());
  CHECK(fields.at("kv_scales") == "none");
  CHECK(fields.at("numerics") == "fast");
  row.given.shared_prefix = 512;
  row.given.problem.kv_scales = KvScales::sequence;
  row.given.problem.numerics = AttentionNumerics::invariant;
  fields = fields_of(to_csv(std::vector{row}, 1));
  CHECK(fields.at("shared_prefix") == "512");
  CHECK(fields.at("kv_scales") == "sequence");
  CHECK(fields.at("numerics") == "invariant");
}

TEST_CASE("a row without times says why, and one that is wrong says so") {
  BenchmarkRow row = measured_row();
  row.accuracy.worst_row = 0.5;
  row.accuracy.correct = false;
  CHECK_FALSE(row.good());
  CHECK(fields_of(to_csv(std::vector{row}, 1)).at("result") == "wrong");
  row.seconds.clear();
  row.read_seconds.clear();
  row.error = Error{ErrorCode::unsupported, "no kernel has it"};
  CHECK_FALSE(row.good());
  CHECK(describe(row)["error"]["message"] == "no kernel has it");
  CHECK(fields_of(to_csv(std::vector{row}, 1)).at("median_time").empty());
  CHECK(contains(fields_of(to_csv(std::vector{row}, 1)).at("error"), "no kernel has it"));
}

TEST_CASE("the document has the device, the version, the rounds and the rows") {
  BenchmarkResult result{"Device", 20, 7, {measured_row()}};
  CHECK(result.good());
  const auto document = nlohmann::json::parse(to_json(result));
  CHECK(document["device"] == "Device");
  CHECK_FALSE(document["version"].get<std::string>().empty());
  CHECK(document["rounds"] == 20);
  CHECK(document["seed"] == 7);
  CHECK(document["results"][0]["operation"] == "decode");
  CHECK_FALSE(document.contains("cancelled"));
  result.cancelled = true;
  CHECK_FALSE(result.good());
  CHECK(nlohmann::json::parse(to_json(result))["cancelled"] == true);
}

TEST_CASE("a row has the choice of the plan and its alternatives, and the document their summary") {
  BenchmarkRow row = measured_row();
  CHECK_FALSE(describe(row).contains("alternatives"));
  row.planned = BenchmarkAlternative{.kernel = "a",
                                     .splits = 1,
                                     .blocks = 8,
                                     .modelled = {7, true, {.start = 2, .read = 5}},
                                     .correct = true};
  row.alternatives = {BenchmarkAlternative{.kernel = "b",
                                           .splits = 4,
                                           .blocks = 32,
                                           .combines_apart = true,
                                           .modelled = {9.5},
                                           .correct = true,
                                           .seconds = {1e-3, 3e-3, 2e-3},
                                           .ratio = 1.1},
                      BenchmarkAlternative{.kernel = "c"}};
  const auto described = describe(row);
  CHECK(described["planned"]["modelled"] == 7);
  CHECK(described["planned"]["terms"]["read"] == 5);
  CHECK(described["planned"]["terms"]["items"] == 0);
  CHECK_FALSE(described["planned"].contains("seconds"));
  REQUIRE(described["alternatives"].size() == 2);
  const auto& best = described["alternatives"][0];
  CHECK(best["kernel"] == "b");
  CHECK(best["splits"] == 4);
  CHECK(best["blocks"] == 32);
  CHECK(best["combines_apart"] == true);
  CHECK(best["seconds"] == 2e-3);
  CHECK(best["ratio"] == 1.1);
  CHECK(described["alternatives"][1]["correct"] == false);
  BenchmarkResult result;
  result.rows = {row};
  CHECK(nlohmann::json::parse(to_json(result))["alternatives"]["mean_ratio"] == doctest::Approx(1.1));
  result.rows = {measured_row()};
  CHECK_FALSE(nlohmann::json::parse(to_json(result)).contains("alternatives"));
}

TEST_CASE("a row with a wrong alternative is not good") {
  BenchmarkRow row = measured_row();
  row.alternatives.resize(1);
  row.alternatives[0].correct = true;
  CHECK(row.good());
  row.alternatives[0].correct = false;
  CHECK_FALSE(row.good());
}
