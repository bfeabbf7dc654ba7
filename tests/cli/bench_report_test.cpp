// SPDX-License-Identifier: Apache-2.0
#include "bench_report.hpp"

#include "tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

using namespace cubinet;
using namespace cubinet::cli;
using test::contains;

namespace {

BenchRow measured_row() {
  BenchRow row;
  row.measured.tag = "a \"name\", with a comma";
  row.problem.heads_q = 8;
  row.problem.kv_len = 1000;
  row.mean_kv_length = 1000;
  row.requested = "auto";
  row.backend = "templates";
  row.work = {4e9, 2e9, 3e9};
  row.verdict.allowed = 1e-2;
  row.splits = 3;
  row.seconds = {1e-3, 4e-3, 2e-3};
  row.read_seconds = {1e-3, 1e-3, 3e-3};
  return row;
}

// Of a table of one line without line breaks in it: fields by their column.
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
  CHECK(median_of({3, 1, 2}) == 2);
  CHECK(median_of({1}) == 1);
  const auto described = describe(measured_row());
  CHECK(described["seconds"] == 2e-3);
  CHECK(described["share_of_read"] == 1.0);  // of the rounds 1, 0.25 and 1.5
  CHECK(described["teraflops"] == 2.0);
  CHECK(described["terabytes_per_second"] == 1.5);
  CHECK(described["kv_terabytes_per_second"] == 1.0);
  CHECK(described["correct"] == true);
  CHECK(described["rounds"]["seconds"].size() == 3);
}

TEST_CASE("a line says why a peer has no time, without its line breaks") {
  BenchRow row = measured_row();
  row.peers.push_back({"Gone", "the peer Gone\nhas ended", {}});
  row.peers.push_back({"Fast", "it", {1e-3, 2e-3, 1e-3}});
  const std::string line = to_line(row);
  CHECK(contains(line, "Gone: the peer Gone"));
  CHECK(contains(line, "has ended, Fast 1"));
  CHECK(std::count(line.begin(), line.end(), '\n') == 0);
}

TEST_CASE("a table has the columns of the field, in milliseconds, and quotes what holds commas") {
  const auto fields = fields_of(csv_of({measured_row()}, 42));
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
  BenchRow row = measured_row();
  row.verdict.error.worst_row = 0.5;
  CHECK_FALSE(row.good());
  CHECK(contains(to_line(row), "WRONG"));
  CHECK(fields_of(csv_of({row}, 1)).at("result") == "wrong");
  row.seconds.clear();
  row.read_seconds.clear();
  row.error = Error{ErrorCode::unsupported, "no kernel has it"};
  CHECK_FALSE(row.good());
  CHECK(contains(to_line(row), "no kernel has it"));
  CHECK(describe(row)["error"]["message"] == "no kernel has it");
  CHECK(fields_of(csv_of({row}, 1)).at("median_time").empty());
  CHECK(contains(fields_of(csv_of({row}, 1)).at("error"), "no kernel has it"));
}
