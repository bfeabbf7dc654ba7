// SPDX-License-Identifier: Apache-2.0
#include "bench_cases.hpp"
#include "driver_setting.hpp"
#include "support/skip.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

using namespace cubinet::test;

namespace {

ToolResult bench(const Sandbox& sandbox, std::vector<std::string> options) {
  options.insert(options.begin(), {"bench", "attention"});
  return sandbox.run(options, with_driver());
}

}  // namespace

TEST_CASE("bench attention measures what it was asked to, and finds out a device that computes nothing") {
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr) return skip("only the stub computes nothing");
  const Sandbox sandbox;
  sandbox.write("s.txt",
                "--tag small --batch 2 --kv-len 40 --heads-q 4 --heads-kv 2 --head-dim-qk 64 --page-size 16 "
                "--q-len 1,2\n"
                "--tag nobody --kv-len 40 --heads-q 4 --head-dim-qk 112 --page-size 16\n");
  const ToolResult result = bench(sandbox, {"--sweep", sandbox.path("s.txt"), "--csv", sandbox.path("t.csv"),
                                            "--iterations", "3", "--json"});
  CAPTURE(result.err);
  CAPTURE(result.out);
  REQUIRE(result.status == 1);
  const auto results = result.json()["results"];
  REQUIRE(results.size() == 3);
  CHECK(results[0]["correct"] == false);
  CHECK(results[0]["backend"] == "templates");
  CHECK(results[0]["requested"] == "auto");
  CHECK(results[0]["rounds"]["seconds"].size() == 3);
  CHECK(results[0]["rounds"]["read_seconds"].size() == 3);
  CHECK(results[1]["q_len"] == 2);
  CHECK(results[2]["error"]["code"] == "unsupported");
  const std::string table = sandbox.read("t.csv");
  CHECK(std::count(table.begin(), table.end(), '\n') == 4);
}

TEST_CASE("bench attention measures a shared prefix, and says so to its peers") {
  const Sandbox sandbox;
  sandbox.write("s.txt",
                "--batch 3 --kv-len 40 --heads-q 4 --page-size 16 --shared-prefix 20 --kv-lengths 40:30\n");
  // The peer repeats what it is asked.
  const ToolResult result = bench(
      sandbox, {"--sweep", sandbox.path("s.txt"), "--iterations", "2", "--json", "--peer",
                R"(P=read l; case "$l" in *'"shared_prefix":20'*) echo '{"declined": "asked"}';; esac)"});
  CAPTURE(result.err);
  CAPTURE(result.out);
  const auto row = result.json()["results"][0];
  REQUIRE_FALSE(row.contains("error"));
  CHECK(row["shared_prefix"] == 20);
  CHECK(row["rounds"]["seconds"].size() == 2);
  CHECK(row["kv_bytes"] == (20 + 20 + 10 + 10) * 2 * 4 * 128 * 2);
  CHECK(contains(row["peers"][0]["what"].get<std::string>(), "asked"));
}

TEST_CASE("bench attention asks its peers in every round, leaves out one that fails, and judges the goals") {
  const Sandbox sandbox;
  const ToolResult result = bench(
      sandbox,
      {"--kv-len",
       "40",
       "--heads-q",
       "4",
       "--heads-kv",
       "2",
       "--head-dim-qk",
       "64",
       "--page-size",
       "16",
       "--peer",
       R"(Slow=while read l; do case "$l" in *kv_lengths*) echo '{"ready": "it"}';; *) echo '{"seconds": 50}';; esac; done)",
       "--peer",
       R"(Shy=while read l; do echo '{"declined": "no heads"}'; done)",
       "--peer",
       "Gone=exit 1",
       "--iterations",
       "3",
       "--goal",
       "peer:Slow:0.5",
       "--goal",
       "peer:Gone:1",
       "--goal",
       "us:1e-9",
       "--json"});
  CAPTURE(result.err);
  CAPTURE(result.out);
  const auto row = result.json()["results"][0];
  REQUIRE(row.contains("peers"));
  CHECK(row["peers"][0]["what"] == "it");
  CHECK(row["peers"][0]["rounds"] == nlohmann::json({50.0, 50.0, 50.0}));
  CHECK(row["peers"][0]["seconds"] == 50.0);
  CHECK(row["peers"][1]["what"].get<std::string>().find("no heads") != std::string::npos);
  CHECK_FALSE(row["peers"][1].contains("seconds"));
  CHECK(row["peers"][2]["what"].get<std::string>().find("has ended") != std::string::npos);
  CHECK(row["goals"][1]["reached"] == nullptr);
  CHECK(row["goals"][2]["met"] == false);
  // Without a GPU nothing is right, and so nothing reached.
  CHECK(row["goals"][0]["met"] == row["correct"]);
}

TEST_CASE("bench attention holds what peers compute of its inputs against the same reference") {
  const Sandbox sandbox;
  const std::string folder = sandbox.path("inputs");
  std::filesystem::create_directory(folder);
  // Zeros, which are as far from the reference as the reference is long: 4 heads of 64, bf16.
  const std::string peer =
      "P=while read l; do case \"$l\" in *kv_lengths*) echo '{\"ready\": \"it\"}';; *output*) head -c 512 "
      "/dev/zero >" +
      folder + "/output; echo '{\"written\": \"it\"}';; *) echo '{\"seconds\": 50}';; esac; done";
  const ToolResult result =
      bench(sandbox, {"--kv-len",      "40",           "--heads-q",     "4",    "--heads-kv",   "2",
                      "--head-dim-qk", "64",           "--page-size",   "16",   "--peer",       peer,
                      "--peer",        "Gone=exit 1",  "--peer-inputs", folder, "--iterations", "3",
                      "--goal",        "error:Gone:1", "--json"});
  CAPTURE(result.err);
  CAPTURE(result.out);
  const auto row = result.json()["results"][0];
  REQUIRE(row.contains("peers"));
  CHECK(row["peers"][0]["all_rows_error"] == 1.0);
  CHECK_FALSE(row["peers"][1].contains("all_rows_error"));
  CHECK(row["goals"][0]["met"] == false);
  CHECK(std::filesystem::file_size(folder + "/q") == 512);
}

TEST_CASE("a case that no device holds is a row with its reason, and the next one is measured") {
  const Sandbox sandbox;
  sandbox.write("s.txt",
                "--batch 1000 --kv-len 1000000000 --heads-q 4 --head-dim-qk 64 --page-size 16 --backend auto "
                "--backend templates\n"
                "--kv-len 40 --heads-q 4 --heads-kv 2 --head-dim-qk 64 --page-size 16\n");
  const ToolResult result = bench(sandbox, {"--sweep", sandbox.path("s.txt"), "--iterations", "1", "--json"});
  CAPTURE(result.err);
  CHECK(result.status == 1);
  const auto results = result.json()["results"];
  REQUIRE(results.size() == 3);
  CHECK(contains(results[0]["error"]["message"].get<std::string>(), "alone take "));
  CHECK(results[1]["requested"] == "templates");
  CHECK(results[1]["error"]["code"] == "unavailable");
  CHECK(results[2].contains("seconds"));
}

TEST_CASE("bench attention lists a sample without a device, and the list is a sweep of the same cases") {
  const Sandbox sandbox;
  const ToolResult listed = sandbox.run({"bench", "attention", "--sample", "40", "--seed", "9", "--list"});
  REQUIRE(listed.status == 0);
  const auto sweep = cubinet::cli::parse_sweep(listed.out, "s.txt");
  REQUIRE(sweep);
  const auto drawn = cubinet::sample_cases(40, 9);
  REQUIRE(sweep->size() == drawn.size());
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const auto read = cubinet::cli::benchmark_case_of((*sweep)[i]);
    REQUIRE(read);
    CHECK(read->problem == drawn[i].problem);
    CHECK(read->tag == drawn[i].tag);
    CHECK(read->lengths_unknown == drawn[i].lengths_unknown);
    std::vector<std::int32_t> lengths = drawn[i].kv_lengths;
    if (lengths.empty())
      lengths.assign(drawn[i].problem.batch, static_cast<std::int32_t>(drawn[i].problem.kv_len));
    CHECK(read->kv_lengths == lengths);
  }
  const auto document =
      sandbox.run({"bench", "attention", "--sample", "40", "--seed", "9", "--list", "--json"}).json();
  CHECK(document["sample"].size() == 40);
  CHECK(document["sample"][0] == cubinet::cli::to_sweep_line(drawn[0]));
}

TEST_CASE(
    "bench attention times a sample with alternatives, and finds out that the stub computes none of them") {
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr) return skip("only the stub computes nothing");
  const Sandbox sandbox;
  const std::vector<std::string> options = {
      "--kv-len",       "40",           "--heads-q", "4", "--heads-kv", "2", "--head-dim-qk", "64",
      "--alternatives", "--iterations", "1"};
  const ToolResult text = bench(sandbox, options);
  CAPTURE(text.err);
  CHECK(text.status == 1);
  CHECK(contains(text.out, " alternatives are WRONG"));
  std::vector<std::string> as_json = options;
  as_json.emplace_back("--json");
  const auto results = bench(sandbox, as_json).json()["results"];
  REQUIRE(results.size() == 1);
  CHECK(results[0]["planned"]["splits"] == results[0]["splits"]);
  CHECK_FALSE(results[0]["alternatives"].empty());
}

TEST_CASE("an output of a peer is its own, not that of the one before") {
  const Sandbox sandbox;
  const std::string folder = sandbox.path("inputs");
  std::filesystem::create_directory(folder);
  const auto peer = [&](const std::string& name, const std::string& writes) {
    return name + "=while read l; do case \"$l\" in *kv_lengths*) echo '{\"ready\": \"it\"}';; *output*) " +
           writes + "; echo '{\"written\": \"it\"}';; *) echo '{\"seconds\": 50}';; esac; done";
  };
  const ToolResult result = bench(
      sandbox, {"--kv-len", "40", "--heads-q", "4", "--heads-kv", "2", "--head-dim-qk", "64", "--page-size",
                "16", "--peer", peer("A", "head -c 512 /dev/zero >" + folder + "/output"), "--peer",
                peer("B", "true"), "--peer-inputs", folder, "--iterations", "1", "--json"});
  CAPTURE(result.err);
  const auto peers = result.json()["results"][0]["peers"];
  CHECK(peers[0]["all_rows_error"] == 1.0);
  CHECK_FALSE(peers[1].contains("all_rows_error"));
  CHECK(contains(peers[1]["what"].get<std::string>(), "no output"));
}

TEST_CASE("bench attention refuses what is no case before it measures another") {
  const Sandbox sandbox;
  CHECK(bench(sandbox, {}).status == 2);
  CHECK(bench(sandbox, {"--kv-len", "10"}).status == 2);
  CHECK(bench(sandbox, {"--sample", "3", "--kv-len", "10"}).status == 2);
  CHECK(bench(sandbox, {"--sample", "0"}).status == 2);
  CHECK(bench(sandbox, {"--kv-len", "40", "--heads-q", "4", "--list"}).status == 2);
  CHECK(bench(sandbox, {"--sweep", sandbox.path("none.txt")}).status == 2);
  sandbox.write("s.txt", "--kv-len 40 --heads-q 4\n--kv-len 40 --heads-q 4 --heads-kv 3\n");
  CHECK(bench(sandbox, {"--sweep", sandbox.path("s.txt")}).status == 2);
  CHECK(bench(sandbox, {"--sweep", sandbox.path("s.txt"), "--batch", "3"}).status == 2);
  CHECK(bench(sandbox, {"--kv-len", "40", "--heads-q", "4", "--goal", "fast"}).status == 2);
  CHECK(bench(sandbox, {"--kv-len", "40", "--heads-q", "4", "--peer-inputs", "f"}).status == 2);
  CHECK(bench(sandbox, {"--kv-len", "40", "--heads-q", "4", "--peer", "cat"}).status == 2);
  CHECK(bench(sandbox, {"--kv-len", "40", "--heads-q", "4", "--peer", "P=cat", "--peer", "P=cat"}).status ==
        2);
  CHECK(bench(sandbox, {"--kv-len", "40", "--heads-q", "4", "--peer-inputs", sandbox.path("none")}).status ==
        2);
}
