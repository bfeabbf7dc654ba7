// SPDX-License-Identifier: Apache-2.0
#include "driver_setting.hpp"
#include "support/skip.hpp"

#include <cubinet/base/bytes.hpp>
#include <cubinet/kernel_table/tuning_table.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

using namespace cubinet;
using namespace cubinet::test;

namespace {

const std::vector<std::string> kProblem = {"--batch",    "2", "--kv-len",      "40", "--heads-q",   "4",
                                           "--heads-kv", "2", "--head-dim-qk", "64", "--page-size", "16"};

ToolResult tool(const Sandbox& sandbox, std::vector<std::string> words,
                const std::vector<std::string>& more = {}) {
  words.insert(words.end(), more.begin(), more.end());
  words.push_back("--json");
  ToolResult result = sandbox.run(words, with_driver());
  CAPTURE(result.err);
  return result;
}

}  // namespace

TEST_CASE("tune measures into the home, a bundle takes it along, and whoever has that plans with it") {
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr) return skip("only the stub measures nothing in no time");
  const Sandbox sandbox;
  const ToolResult tuned = tool(sandbox, {"tune", "--budget", "1"}, kProblem);
  CAPTURE(tuned.err);
  REQUIRE(tuned.status == 0);
  const auto row = tuned.json()["results"][0];
  CHECK(row["backend"] == "templates");
  CHECK(row["batch"] == 2);
  CHECK(row["candidates"].get<int>() >= 1);
  const auto shown = tool(sandbox, {"tune", "--show"}).json();
  CHECK(shown["rows"].size() == 1);
  CHECK(shown["stale"] == 0);

  const std::string device = row["device"].get<std::string>();
  CAPTURE(device);
  const std::string name = device.substr(0, device.find(','));
  CHECK(tool(sandbox, {"select", "attention", "--device", "9.0", "--backend", "templates"}, kProblem)
            .json()["measured"]
            .is_null());
  const auto named =
      tool(sandbox,
           {"select", "attention", "--device", device.substr(name.size() + 2, 3), "--sm-count",
            device.substr(name.size() + 7, device.find(" multi") - name.size() - 7), "--device-name", name},
           kProblem);
  CAPTURE(named.err);
  CHECK(contains(named.json()["measured"].get<std::string>(), name));
  const std::string bundle = sandbox.path("b.bundle");
  const ToolResult created = tool(sandbox, {"bundle", "create", "-o", bundle, "--tuning"});
  REQUIRE(created.status == 0);
  CHECK(created.json()["measurements"] == 1);
  // The other node has its own home and no compiler.
  const Sandbox other;
  other.write("no_nvrtc.so", "");
  std::vector<std::string> run = {"run",      "decode", "--iterations", "1",
                                  "--bundle", bundle,   "--nvrtc",      other.path("no_nvrtc.so")};
  const ToolResult ran = tool(other, run, kProblem);
  CAPTURE(ran.out);
  CAPTURE(ran.err);
  REQUIRE(ran.status == 1);  // the stub computes nothing
  CHECK(contains(ran.json()["measured"].get<std::string>(), "measured 20"));
  CHECK(ran.json()["kernel"]["source"] == "bundle");
  CHECK(tool(other, {"bundle", "import", bundle}).json()["imports"][0]["measurements"] == 1);
  CHECK(tool(other, {"tune", "--show"}).json()["digest"] == shown["digest"]);
}

TEST_CASE("a table is a file where one is named, and files are merged") {
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr) return skip("only the stub measures nothing in no time");
  const Sandbox sandbox;
  const std::string file = sandbox.path("t.tuning");
  sandbox.write("s.txt",
                "--kv-len 40 --heads-q 4 --heads-kv 2 --head-dim-qk 64 --page-size 16 --batch 1,2\n");
  const std::vector<std::string> sweep = {"tune",     "--budget", "1", "--sweep", sandbox.path("s.txt"),
                                          "--output", file};
  REQUIRE(tool(sandbox, sweep).json()["results"].size() == 2);
  CHECK(tool(sandbox, {"tune", "--show"}).json()["rows"].empty());
  CHECK(tool(sandbox, {"tune", "--show", "--output", file}).json()["rows"].size() == 2);
  CHECK(tool(sandbox, {"tune", "--merge", file}).json()["merged"] == 2);
  CHECK(tool(sandbox, {"tune", "--show"}).json()["rows"].size() == 2);
  const std::string before = sandbox.read("t.tuning");
  sandbox.write("broken.tuning", before.substr(0, before.size() - 1));
  CHECK(tool(sandbox, {"tune", "--merge", sandbox.path("broken.tuning")}).status == 1);
  CHECK(tool(sandbox, {"tune", "--merge", sandbox.path("none.tuning")}).status == 2);
}

TEST_CASE("a dry run lists what would be measured and makes nothing") {
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr) return skip("asks a device");
  const Sandbox sandbox;
  const auto listed = tool(sandbox, {"tune", "--dry-run"}, kProblem).json();
  CHECK(listed["results"][0]["candidates"].size() > 3);
  CHECK_FALSE(std::filesystem::exists(sandbox.home() / "tuning"));
  // A tile has kernels with several numbers of stages, and each line names its number.
  std::vector<std::string> words = {"tune", "--dry-run"};
  words.insert(words.end(), kProblem.begin(), kProblem.end());
  std::istringstream lines(sandbox.run(words, with_driver()).out);
  std::set<std::string> different;
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    different.insert(line);
  CHECK(count == listed["results"][0]["candidates"].size());
  CHECK(different.size() == count);
}

TEST_CASE("a dry run tells of a problem that nothing serves, and lists the next one") {
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr) return skip("asks a device");
  const Sandbox sandbox;
  sandbox.write("s.txt",
                "--kv-len 40 --heads-q 4 --heads-kv 2 --head-dim-qk 112\n"
                "--kv-len 40 --heads-q 4 --heads-kv 2 --head-dim-qk 64 --page-size 16\n");
  const ToolResult listed = tool(sandbox, {"tune", "--dry-run", "--sweep", sandbox.path("s.txt")});
  CHECK(listed.status == 1);
  const auto results = listed.json()["results"];
  REQUIRE(results.size() == 2);
  CHECK(contains(results[0]["error"]["message"].get<std::string>(), "112"));
  CHECK(results[1]["candidates"].size() > 3);
}

TEST_CASE("over a shared prefix both attentions are measured, and a plan over it uses the rows") {
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr) return skip("only the stub measures nothing in no time");
  const Sandbox sandbox;
  const std::vector<std::string> prefix = {"--shared-prefix", "30"};
  std::vector<std::string> problem = kProblem;
  problem.insert(problem.end(), prefix.begin(), prefix.end());
  CHECK(tool(sandbox, {"tune", "--dry-run"}, problem).json()["results"].size() == 2);
  const ToolResult tuned = tool(sandbox, {"tune", "--budget", "1"}, problem);
  REQUIRE_MESSAGE(tuned.status == 0, tuned.err);
  const auto results = tuned.json()["results"];
  REQUIRE(results.size() == 2);
  CHECK(results[0]["kv_len"] == 10);
  CHECK(results[1]["kv_len"] == 30);
  CHECK(results[1]["batch"] == 1);
  const ToolResult ran = tool(sandbox, {"run", "decode", "--iterations", "1"}, problem);
  CAPTURE(ran.out);
  CHECK(contains(ran.json()["measured"].get<std::string>(), "measured 20"));

  sandbox.write("s.txt", "--kv-len 40 --heads-q 4 --page-size 16 --shared-prefix 30 --window 20\n");
  const ToolResult refused = tool(sandbox, {"tune", "--sweep", sandbox.path("s.txt")});
  CHECK(refused.status == 1);
  const auto reason = refused.json()["results"][0]["error"]["message"].get<std::string>();
  CHECK(contains(reason, "line 1: attention over shared prefixes: --window is 20"));
}

TEST_CASE("a problem that no device holds is told at once, and the next one is measured") {
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr) return skip("only the stub measures nothing in no time");
  const Sandbox sandbox;
  sandbox.write("s.txt",
                "--batch 1000 --kv-len 1000000000 --heads-q 4 --head-dim-qk 64 --page-size 16 --window 1\n"
                "--kv-len 40 --heads-q 4 --heads-kv 2 --head-dim-qk 64 --page-size 16\n");
  const ToolResult tuned = tool(sandbox, {"tune", "--budget", "1", "--sweep", sandbox.path("s.txt")});
  CHECK(tuned.status == 1);
  const auto results = tuned.json()["results"];
  REQUIRE(results.size() == 2);
  CHECK(contains(results[0]["error"]["message"].get<std::string>(), "alone take "));
  CHECK(contains(results[0]["error"]["message"].get<std::string>(), "line 1: "));
  CHECK(results[1]["backend"] == "templates");
  const ToolResult said =
      sandbox.run({"tune", "--budget", "1", "--sweep", sandbox.path("s.txt")}, with_driver());
  CHECK(contains(said.err, "line 1: "));
  CHECK(contains(said.out, ": 1 of 2 problems in "));
}

TEST_CASE("a device that is not there is told once, not for each problem") {
  const Sandbox sandbox;
  sandbox.write("s.txt",
                "--kv-len 40 --heads-q 4 --heads-kv 2 --head-dim-qk 64 --page-size 16\n"
                "--kv-len 80 --heads-q 4 --heads-kv 2 --head-dim-qk 64 --page-size 16\n");
  const std::vector<std::string> words = {"tune", "--device", "99", "--sweep", sandbox.path("s.txt")};
  const ToolResult as_lines = sandbox.run(words, with_driver());
  CHECK(as_lines.status ==
        sandbox.run({"run", "decode", "--kv-len", "40", "--heads-q", "4", "--device", "99"}, with_driver())
            .status);
  CHECK(as_lines.status != 0);
  CHECK(as_lines.err.find("error: ") == as_lines.err.rfind("error: "));
  CHECK_FALSE(contains(as_lines.err, "line 1"));
  CHECK(as_lines.out.empty());
  CHECK_FALSE(tool(sandbox, words).json().contains("results"));
  CHECK_FALSE(std::filesystem::exists(sandbox.home() / "tuning"));
}

TEST_CASE("a table that cannot be read is shown and bundled as the error that it is") {
  const Sandbox sandbox;
  TuningTable::Row row;
  row.problem = "decode()";
  row.backend = "templates";
  TuningTable table;
  table.add(row);
  const std::string good(as_text(table.encode()));
  sandbox.write("good", good);
  REQUIRE(tool(sandbox, {"tune", "--merge", sandbox.path("good")}).status == 0);
  std::string newer = good.substr(0, good.size() - 32);
  newer[4] = 9;
  const Sha256Digest digest = sha256(as_bytes(newer));
  newer += as_text(digest.bytes);
  struct Case {
    std::string content;
    int status;
    const char* says;
  };
  for (const Case& one : {Case{good.substr(0, 30), 1, "tuning"}, Case{"not a table at all", 1, "magic"},
                          Case{newer, 3, "version 9"}}) {
    CAPTURE(one.says);
    std::ofstream(sandbox.home() / "tuning", std::ios::binary) << one.content;
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"tune", "--show"},
          std::vector<std::string>{"bundle", "create", "-o", sandbox.path("b"), "--tuning"}}) {
      const ToolResult failed = tool(sandbox, words);
      CHECK(failed.status == one.status);
      CHECK(contains(failed.json()["error"]["message"].get<std::string>(), one.says));
    }
    CHECK_FALSE(std::filesystem::exists(sandbox.path("b")));
  }
}

TEST_CASE(
    "what is measured replaces what a clock that was ahead has dated later, in a file that can be read "
    "back") {
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr) return skip("only the stub measures nothing in no time");
  const Sandbox sandbox;
  const std::string file = sandbox.path("t");
  const std::vector<std::string> tune = {"tune", "--budget", "1", "--output", file};
  REQUIRE(tool(sandbox, tune, kProblem).status == 0);
  const auto bytes = [](const std::string& text) { return as_bytes(text); };
  auto table = TuningTable::decode(bytes(sandbox.read("t")));
  REQUIRE(table);
  TuningTable::Row row = table->rows().front();
  row.measured = 4'000'000'000;
  row.candidates = 99;
  table->add(row);
  sandbox.write("t", std::string(as_text(table->encode())));
  CHECK(tool(sandbox, tune, kProblem).json()["results"][0]["measured"] == 4'000'000'001);
  const auto rows = tool(sandbox, {"tune", "--show", "--output", file}).json()["rows"];
  REQUIRE(rows.size() == 1);
  CHECK(rows[0]["candidates"] != 99);
  row.problem = std::string(kMaximumTuningBytes - 4000, 'x');
  table->add(row);
  sandbox.write("large", std::string(as_text(table->encode())));
  CHECK(tool(sandbox, {"tune", "--merge", sandbox.path("large"), "--output", file}).status == 0);
  row.problem.front() = 'y';
  TuningTable more;
  more.add(row);
  sandbox.write("more", std::string(as_text(more.encode())));
  CHECK(tool(sandbox, {"tune", "--merge", sandbox.path("more"), "--output", file}).status == 3);
  CHECK(tool(sandbox, {"tune", "--show", "--output", file}).status == 0);
}

TEST_CASE("two that measure into one file at once lose no row, and leave nothing but the table") {
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr) return skip("only the stub measures nothing in no time");
  const Sandbox sandbox;
  std::filesystem::create_directory(sandbox.path("out"));
  std::vector<std::thread> processes;
  for (const char* batches : {"1,2,3,4", "5,6,7,8"}) {
    processes.emplace_back([&sandbox, batches] {
      const std::string name = std::string("s") + batches[0];
      sandbox.write(name, "--kv-len 40 --heads-q 4 --heads-kv 2 --head-dim-qk 64 --page-size 16 --batch " +
                              std::string(batches) + "\n");
      tool(sandbox,
           {"tune", "--budget", "1", "--sweep", sandbox.path(name), "--output", sandbox.path("out/t")});
    });
  }
  for (std::thread& process : processes)
    process.join();
  CHECK(tool(sandbox, {"tune", "--show", "--output", sandbox.path("out/t")}).json()["rows"].size() == 8);
  const std::filesystem::directory_iterator left(sandbox.path("out"));
  CHECK(std::distance(begin(left), end(left)) == 1);
}

TEST_CASE("what was measured and cannot be kept is printed, with the status of the error") {
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr) return skip("only the stub measures nothing in no time");
  const Sandbox sandbox;
  std::filesystem::create_directories(sandbox.path("out/.t.lock"));  // prevents the lock from being opened
  sandbox.write("s.txt", "--kv-len 40,80 --heads-q 4 --heads-kv 2 --head-dim-qk 64 --page-size 16\n");
  const ToolResult tuned = tool(sandbox, {"tune", "--budget", "1", "--sweep", sandbox.path("s.txt"),
                                          "--output", sandbox.path("out/t")});
  CAPTURE(tuned.err);
  CHECK(tuned.status != 0);
  CHECK(contains(tuned.err, ".t.lock"));
  CHECK(contains(tuned.out, "\"kv_len\": 80"));
  CHECK(contains(tuned.json()["error"]["message"].get<std::string>(), ".t.lock"));
  CHECK(tuned.json()["results"].size() == 2);
  CHECK_FALSE(std::filesystem::exists(sandbox.path("out/t")));
}

TEST_CASE("tune refuses what is no problem, and what contradicts itself") {
  const Sandbox sandbox;
  CHECK(tool(sandbox, {"tune"}).status == 2);
  CHECK(tool(sandbox, {"tune", "--kv-len", "10"}).status == 2);
  CHECK(tool(sandbox, {"tune", "--kv-len", "10", "--heads-q", "4", "--output", "-"}).status == 2);
  CHECK(contains(tool(sandbox, {"tune", "--merge", sandbox.path("none.tuning")}).json()["error"].dump(),
                 "cubinet tune --output"));
  CHECK(tool(sandbox, {"tune", "--sweep", sandbox.path("none.txt")}).status == 2);
  CHECK(tool(sandbox, {"tune", "--show", "--sweep", sandbox.path("none.txt")}).status == 2);
  CHECK(tool(sandbox, {"tune", "--show", "--merge", "t"}).status == 2);
  CHECK(tool(sandbox, {"tune", "--dry-run", "--merge", "t"}).status == 2);
  CHECK(tool(sandbox, {"tune", "--show"}, kProblem).status == 2);
  CHECK(tool(sandbox, {"tune", "--merge", "t", "--kv-len", "40"}).status == 2);
}
