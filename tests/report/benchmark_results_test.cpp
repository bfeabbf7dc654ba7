// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"
#include "support/text.hpp"

#include <cubinet/report/benchmark_results.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::test;

namespace {

BenchmarkResults read(std::string_view text) {
  return ok(BenchmarkResults::read(ok(parse_json(text)), "r.json"));
}

}  // namespace

TEST_CASE("ratios are read with their goals and times, the worst first") {
  const auto results = read(R"({"benchmark": "launch", "commit": "c1d62a5", "date": "2026-11-24",
    "machine": {"gpu": "NVIDIA H200", "driver": "580", "cpu": "Xeon", "cores": 16},
    "rows": [{"name": "launch", "unit": "ns", "median": {"a": 4313.1, "b": 8671.0, "c": 8.5},
              "ratios": {"a : b": {"median": 0.5, "goal": 0.8, "met": true}, "a : c": {"median": 1.5}}},
             {"name": "rate", "unit": "tokens/s", "median": {"a": 20, "b": 10},
              "ratios": {"a : b": {"median": 0.5}, "a - b, s": {"median": 0.003, "goal": 0.01, "met": false}}}]})");
  CHECK(results.benchmark == "launch");
  CHECK(results.machine == "NVIDIA H200, driver 580, Xeon, 16 cores");
  REQUIRE(results.ratios.size() == 3);
  CHECK(results.ratios[0].of == "rate");  // half of a rate is worse than 1.5 of a time
  CHECK(results.ratios[0].larger_is_better);
  CHECK(results.ratios[1].value == 1.5);
  CHECK_FALSE(results.ratios[1].met);
  CHECK(results.ratios[2].goal == 0.8);
  CHECK(results.ratios[2].met == true);
  CHECK(results.ratios[2].times == std::vector<std::string>{"a 4313 ns", "b 8671 ns"});
  REQUIRE(results.goals.size() == 1);
  CHECK(results.goals[0].name == "a - b, s");
}

TEST_CASE("attention rows give a ratio for each peer, and goals that name no peer stay goals") {
  const auto results = read(R"({"device": "NVIDIA H200", "version": "0.1.0", "results": [
    {"case_tag": "llama", "batch": 64, "mean_kv_length": 8192, "q_len": 1, "heads_q": 64, "heads_kv": 8,
     "head_dim_qk": 128, "dtype_q": "bf16", "dtype_kv": "e4m3", "seconds": 0.0005,
     "peers": [{"name": "cuDNN", "ratio": 1.02, "seconds": 0.00049}, {"name": "FlashMLA", "what": "is not for this"}],
     "goals": [{"goal": "peer:cuDNN:1", "met": false, "reached": 1.02}, {"goal": "read:0.9", "met": true, "reached": null}]}]})");
  CHECK(results.machine == "NVIDIA H200");
  CHECK(results.commit == "0.1.0");
  REQUIRE(results.ratios.size() == 1);
  CHECK(results.ratios[0].name == "cubinet : cuDNN");
  CHECK(results.ratios[0].of == "llama: batch 64, KV 8192, q 1, 64/8 heads of 128, bf16 on e4m3");
  CHECK(results.ratios[0].goal == 1);
  CHECK(results.ratios[0].met == false);
  REQUIRE(results.goals.size() == 1);
  CHECK(results.goals[0].name == "read:0.9");
  CHECK_FALSE(results.goals[0].reached);
}

TEST_CASE("a row without a ratio gives its numbers") {
  const auto results = read(R"({"rows": [{"name": "batch 1", "kernel_us": 8.712, "splits": 16, "paths": {}},
                                         {"kernel_us": 1}, {"name": "text only"}]})");
  REQUIRE(results.values.size() == 2);
  CHECK(results.values[0].values == std::vector<std::string>{"kernel_us 8.71", "splits 16"});
  CHECK(results.values[1].of == "row 2");
}

TEST_CASE("a document without a number in a row is refused, and wrong types are left out") {
  for (const char* text : {"{}", R"({"rows": 3})", R"({"rows": [1, "x", null, {"name": "a"}]})",
                           R"({"rows": [{"ratios": {"a : b": 1}, "median": 7}]})",
                           R"({"results": [{"case_tag": "x", "peers": "none", "goals": {}}]})"}) {
    CAPTURE(std::string(text));
    const auto refused = BenchmarkResults::read(ok(parse_json(text)), "r.json");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::invalid_argument);
    CHECK(contains(refused.error().message, "'r.json'"));
  }
  CHECK(read(R"({"rows": [{"ratios": {"a : b": {"median": 0}, "c : d": {"median": -2, "met": true}}}]})")
            .ratios.empty());
}
