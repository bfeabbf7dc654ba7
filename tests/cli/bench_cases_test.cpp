// SPDX-License-Identifier: Apache-2.0
#include "bench_cases.hpp"

#include "tool.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

using namespace cubinet;
using namespace cubinet::cli;
using test::contains;

TEST_CASE("a line of a sweep is the product of its lists") {
  const auto cases = parse_sweep(
      "# ours\n--tag a --batch 8,16 --q-len 1,2,4 --kv-len 1024 --heads-q 64 --sinks --softmax-scale=0.25\n\n"
      "--kv-len 10 --heads-q 1 --backend templates,auto --lengths-unknown",
      "s.txt");
  REQUIRE(cases);
  REQUIRE(cases->size() == 8);
  CHECK((*cases)[0].where == "'s.txt', line 2");
  CHECK((*cases)[7].where == "'s.txt', line 4");
  CHECK((*cases)[0].problem.batch == 8);
  CHECK((*cases)[1].problem.q_len == 2);
  CHECK((*cases)[3].problem.batch == 16);
  CHECK((*cases)[5].problem.sinks);
  CHECK((*cases)[5].problem.softmax_scale == 0.25);
  CHECK((*cases)[5].tag == "a");
  CHECK_FALSE((*cases)[5].lengths_unknown);
  CHECK((*cases)[6].backends == std::vector<std::string>{"templates"});
  CHECK((*cases)[7].backends == std::vector<std::string>{"auto"});
  CHECK((*cases)[7].lengths_unknown);
}

TEST_CASE("what is no case is refused with its line") {
  const auto refused = parse_sweep("--kv-len 1 --heads-q 1\n--heads-q 1", "s.txt");
  REQUIRE_FALSE(refused);
  CHECK(contains(refused.error().message, "'s.txt', line 2: --kv-len"));
  for (const char* wrong : {"--kv-lengths 2", "--heads-kv 3", "--q-len 2"}) {
    CAPTURE(wrong);
    const auto no_problem =
        parse_sweep("# a\n--kv-len 1 --heads-q 1\n--kv-len 1 --heads-q 4 " + std::string(wrong), "s.txt");
    REQUIRE_FALSE(no_problem);
    CHECK(contains(no_problem.error().message, "'s.txt', line 3: "));
  }
}

TEST_CASE("lengths are those given, the last one for the rest of the batch") {
  BenchCase given;
  AttentionProblem problem;
  problem.batch = 4;
  problem.kv_len = 100;
  CHECK(*kv_lengths_of(given, problem) == std::vector<std::int32_t>{100, 100, 100, 100});
  given.kv_lengths = "100:7";
  CHECK(*kv_lengths_of(given, problem) == std::vector<std::int32_t>{100, 7, 7, 7});
  for (const char* wrong : {"101", "1:2:3:4:5", "1::2", "1,2", "x", "-1"}) {
    given.kv_lengths = wrong;
    CAPTURE(wrong);
    CHECK_FALSE(kv_lengths_of(given, problem));
  }
}

TEST_CASE("query lengths are those given with ragged queries, the last one for the rest of the batch") {
  AttentionProblem problem;
  problem.batch = 4;
  problem.q_len = 100;
  CHECK(q_lengths_of("", problem)->empty());
  const auto refused = q_lengths_of("100:1", problem);
  REQUIRE_FALSE(refused);
  CHECK(contains(refused.error().message, "--ragged-q"));
  problem.ragged_q = true;
  CHECK(*q_lengths_of("100:0:1", problem) == std::vector<std::int32_t>{100, 0, 1, 1});
  for (const char* wrong : {"101", "1:2:3:4:5", "1::2", "x", "0", "0:0"}) {
    CAPTURE(wrong);
    const auto none = q_lengths_of(wrong, problem);
    REQUIRE_FALSE(none);
    CHECK(contains(none.error().message, "--q-lengths"));
  }
  CHECK(q_lengths_of("0:1", problem));
  const auto cases = parse_sweep(
      "--op prefill --batch 3 --q-len 64 --kv-len 100 --heads-q 4 --ragged-q --q-lengths 64:1", "s.txt");
  REQUIRE(cases);
  CHECK(benchmark_case_of(cases->front())->q_lengths == std::vector<std::int32_t>{64, 1, 1});
}

TEST_CASE("a case of the library has what the options say") {
  const auto cases = parse_sweep(
      "--tag a --batch 2 --kv-len 100 --kv-lengths 100:7 --heads-q 4 --splits 3 --programmatic-launch "
      "--lengths-unknown --backend templates --goal us:5",
      "s.txt");
  REQUIRE(cases);
  const auto made = benchmark_case_of(cases->front());
  REQUIRE(made);
  CHECK(made->tag == "a");
  CHECK(made->kv_lengths == std::vector<std::int32_t>{100, 7});
  CHECK(made->splits == 3);
  CHECK(made->starts_early);
  CHECK(made->lengths_unknown);
  CHECK(made->backends == std::vector<std::string>{"templates"});
  CHECK(made->goals == std::vector<std::string>{"us:5"});
  CHECK(made->where == "'s.txt', line 1");
}

TEST_CASE("the sweeps that come with the library are sweeps") {
  for (const char* name : {"speculative.txt", "decode.txt", "latent.txt", "latent_batches.txt", "prefill.txt",
                           "invariant.txt", "nvrtc_bits.txt"}) {
    std::ifstream file(std::string(CUBINET_SWEEPS) + "/" + name);
    std::stringstream text;
    text << file.rdbuf();
    CAPTURE(name);
    const auto cases = parse_sweep(text.str(), name);
    REQUIRE(cases);
    CHECK(cases->size() > 8);
    for (const BenchCase& given : *cases) {
      CHECK(benchmark_case_of(given));
    }
  }
}
