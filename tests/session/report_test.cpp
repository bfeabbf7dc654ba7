// SPDX-License-Identifier: Apache-2.0
#include "benchmark/report.hpp"

#include "support/text.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <map>

using namespace cubinet;
using test::contains;

namespace {

BenchmarkRow measured_row() {
  BenchmarkRow row;
  row.given.tag = "a \"name\", with a comma";
  row.given.problem.heads_q = 8;
  row.given.problem.kv_len = 1000;
  row.mean_kv_length = 1000;
  row.requested = "auto";
  row.backend = "templates";
  row.operations = 4e9;
  row.kv_bytes = 2e9;
  row.bytes = 3e9;
  row.accuracy.correct = true;
  row.splits = 3;
  row.seconds = {1e-3, 4e-3, 2e-3};
  row.read_seconds = {1e-3, 1e-3, 3e-3};
  return row;
}

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
