// SPDX-License-Identifier: Apache-2.0
#include "support/skip.hpp"
#include "select_line.hpp"
#include "unwilling_home.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <set>

using namespace cubinet::test;

namespace {

constexpr const char* kMatrix = R"({"kernels": [{"template": "rms_norm",
  "parameters": {"hidden_size": [256, 512]}, "targets": ["sm_80", "sm_90a"]}]})";

// The third template does not compile for one of its values.
constexpr const char* kPartlyBroken = R"(/* cubinet-template
{ "name": "partly", "interface": 1, "summary": "one value does not compile", "minimum_target": "sm_80",
  "parameters": [ {"name": "value", "type": "int", "values": [1, 2], "summary": "2 does not compile"} ],
  "constraints": [],
  "kernels": [ {"name": "partly", "threads": "32", "dynamic_shared_bytes": "0", "parameter_bytes": 0} ] }
*/
#include <cubinet/parameters.cuh>
static_assert(cubinet::parameters::value == 1, "the other value");
extern "C" __global__ void partly() {}
)";

ToolResult prebuild(const Sandbox& sandbox, const std::vector<std::string>& more = {},
                    const ToolSetting& setting = {}) {
  std::vector<std::string> line = {"prebuild", sandbox.path("m.json"), "-o", sandbox.path("b.bundle")};
  line.insert(line.end(), more.begin(), more.end());
  return sandbox.run(line, setting);
}

}  // namespace

TEST_CASE("prebuild compiles a matrix into a bundle and takes from the home what is there") {
  const Sandbox sandbox;
  sandbox.write("m.json", kMatrix);
  const ToolResult first = prebuild(sandbox, {"--json", "--bundle-version", "3", "--channel", "norms"});
  CAPTURE(first.err);
  REQUIRE(first.status == 0);
  CHECK(first.json()["kernels"] == 4);
  CHECK(first.json()["compiled"] == 4);
  CHECK(contains(first.err, "[4/4]"));  // plain lines where stderr is no terminal
  CHECK(run_tool({"bundle", "verify", sandbox.path("b.bundle")}).status == 0);
  const auto listed = run_tool({"bundle", "list", sandbox.path("b.bundle"), "--json"}).json();
  CHECK(listed["records"].size() == 4);
  CHECK(listed["version"] == 3);
  CHECK(listed["channel"] == "norms");
  const std::string bytes = sandbox.read("b.bundle");
  const auto second =
      prebuild(sandbox, {"--json", "--bundle-version", "3", "--channel", "norms", "--jobs", "1"}).json();
  CHECK(second["compiled"] == 0);
  CHECK(second["reused"] == 4);
  CHECK(sandbox.read("b.bundle") == bytes);
  // On another machine, from the bundle alone.
  const Sandbox other;
  other.write("m.json", kMatrix);
  const auto third = prebuild(other, {"--json", "--bundle", sandbox.path("b.bundle")}).json();
  CHECK(third["compiled"] == 0);
  CHECK(third["results"][0]["source"] == "bundle");
  CHECK(other.run({"bundle", "diff", sandbox.path("b.bundle"), other.path("b.bundle")}).status == 0);
}

TEST_CASE(
    "the same matrix gives the same bytes whatever the file is called, and tells the size and time of each "
    "kernel") {
  const Sandbox sandbox;
  sandbox.write("m.json", kMatrix);
  const auto first = prebuild(sandbox, {"--json"}).json();
  REQUIRE(sandbox.run({"prebuild", sandbox.path("m.json"), "-o", sandbox.path("other.bundle")}).status == 0);
  CHECK(sandbox.read("b.bundle") == sandbox.read("other.bundle"));
  CHECK(run_tool({"bundle", "list", sandbox.path("other.bundle"), "--json"}).json()["channel"] == "other");
  REQUIRE(first["results"].size() == 4);
  for (const auto& kernel : first["results"]) {
    CHECK(kernel["source"] == "compiled");
    CHECK(kernel["bytes"] > 1000);
    CHECK(kernel["seconds"] > 0);
    CHECK(kernel["sha256"].get<std::string>().size() == 64);
  }
  CHECK(first["results"][0]["target"] == "sm_80");
  CHECK(first["results"][0]["parameters"]["hidden_size"] == 256);
}

TEST_CASE("shards are the same in any order of the matrix, and together are all of it") {
  const Sandbox sandbox;
  sandbox.write("m.json", kMatrix);
  REQUIRE(prebuild(sandbox).status == 0);
  const auto keys_of = [&](const std::string& shard) {
    std::set<std::string> keys;
    const auto document = prebuild(sandbox, {"--shard", shard, "--json"}).json();
    CHECK(document["shard"] == shard);
    for (const auto& kernel : document["results"])
      CHECK(keys.insert(kernel["key"]).second);
    return keys;
  };
  const auto first = keys_of("1/3");
  std::set<std::string> all = first;
  all.merge(keys_of("2/3"));
  all.merge(keys_of("3/3"));
  CHECK(all.size() == 4);
  CHECK(first.size() == 2);
  CHECK(keys_of("5/5").empty());  // a bundle of nothing, for a machine too many
  CHECK(run_tool({"bundle", "verify", sandbox.path("b.bundle")}).status == 0);
  sandbox.write("m.json", R"({"kernels": [{"template": "rms_norm",
    "parameters": {"hidden_size": [512, 256, 512]}, "targets": ["sm_90a", "sm_80"]}]})");
  CHECK(keys_of("1/3") == first);
  for (const char* shard : {"0/3", "4/3", "1", "1/", "/3", "1/0", "1/3/3", "-1/3"}) {
    CAPTURE(shard);
    CHECK(prebuild(sandbox, {"--shard", shard}).status == 2);
  }
}

TEST_CASE("a bundle made without a home is imported into an empty one") {
  const Sandbox sandbox;
  sandbox.write("m.json", kMatrix);
  sandbox.write("home", "not a folder");
  const ToolResult result = prebuild(sandbox);
  CHECK(result.status == 0);
  CHECK(contains(result.err, "warning"));
  const Sandbox other;
  CHECK(other.run({"bundle", "import", sandbox.path("b.bundle")}).status == 0);
  CHECK(other.run({"registry", "list", "--json"}).json()["entries"].size() == 4);
}

TEST_CASE("kernels that the home cannot keep are in the bundle, named, and the status is not 0") {
  const Sandbox sandbox;
  const FullHome home(sandbox);
  if (!home.full()) return skip("nothing may be mounted here");
  sandbox.write("m.json", kMatrix);
  const ToolResult text = prebuild(sandbox);
  CHECK(text.status == 3);
  CHECK(contains(text.err, "the home could not keep 4 kernels"));
  CHECK(contains(text.err, "No space left on device"));
  CHECK(contains(text.err, ", not kept"));
  CHECK(contains(text.out, "4 kernels"));
  CHECK(run_tool({"bundle", "verify", sandbox.path("b.bundle")}).status == 0);
}

TEST_CASE("prebuild with a home that cannot be written warns once with the reason and keeps nothing") {
  const Sandbox sandbox;
  sandbox.write("m.json", kMatrix);
  REQUIRE(sandbox.run({"registry", "repair"}).status == 0);
  std::optional<ToolResult> unkept;
  {
    const ReadOnlyHome home(sandbox);
    if (!home.read_only()) return skip("nothing may be mounted here");
    unkept = prebuild(sandbox, {"--json"});
  }
  const ToolResult& result = *unkept;
  CAPTURE(result.err);
  CHECK(result.status == 0);
  CHECK(warnings_in(result.err) == 1);
  CHECK(contains(result.err, "cannot be written: Read-only file system"));
  const auto results = result.json()["results"];
  REQUIRE(results.size() == 4);
  for (const auto& kernel : results)
    CHECK(kernel["kept"] == false);
  CHECK(sandbox.run({"registry", "list", "--json"}).json()["entries"].empty());
  const auto kept = prebuild(sandbox, {"--json"}).json()["results"];
  for (const auto& kernel : kept)
    CHECK(kernel["kept"] == true);
}

TEST_CASE("a folder of the home that may not be written keeps nothing, which the document says") {
  const Sandbox sandbox;
  const auto nobody = as_nobody(sandbox);
  if (!nobody) return skip("it needs root, and NVRTC for another user");
  sandbox.write("m.json", kMatrix);
  REQUIRE(sandbox.run({"registry", "repair"}, *nobody).status == 0);
  std::filesystem::permissions(sandbox.home() / "cubins", std::filesystem::perms(0555));
  const ToolResult result = prebuild(sandbox, {"--json"}, *nobody);
  CAPTURE(result.out);
  CHECK(result.status == 3);
  CHECK(result.json()["error"]["code"] == "io");
  CHECK(result.json()["kernels"] == 4);
  CHECK(result.json()["not_kept"].size() == 4);
  CHECK(result.json()["bundle"] == sandbox.path("b.bundle"));
  std::filesystem::permissions(sandbox.home() / "cubins", std::filesystem::perms(0755));
  CHECK(prebuild(sandbox, {}, *nobody).status == 0);
}

TEST_CASE("refused combinations are listed by name and nothing is built") {
  const Sandbox sandbox;
  sandbox.write("m.json", R"({"kernels": [{"template": "attention_decode",
    "parameters": {"head_dim_qk": [256], "head_dim_v": [256]}, "targets": ["sm_86", "sm_90a"]}]})");
  const ToolResult text = prebuild(sandbox);
  CHECK(text.status == 2);
  CHECK(contains(text.err, "sm_86"));
  CHECK(contains(text.err, "shared memory"));
  CHECK_FALSE(contains(text.err, "refused: attention_decode(head_dim_qk=256, head_dim_v=256) for sm_90a"));
  const ToolResult document = prebuild(sandbox, {"--json"});
  CHECK(document.status == 2);
  CHECK(document.json()["error"]["code"] == "invalid_argument");
  CHECK(document.json()["refused"].size() == 1);
  CHECK_FALSE(std::filesystem::exists(sandbox / "b.bundle"));
  CHECK_FALSE(std::filesystem::exists(sandbox.home()));
}

TEST_CASE("the rest is built when refused combinations are skipped") {
  const Sandbox sandbox;
  sandbox.write("m.json", R"({"kernels": [{"template": "rms_norm",
    "parameters": {"hidden_size": [256, 257]}, "targets": ["sm_80"]}]})");
  CHECK(prebuild(sandbox).status == 2);
  const ToolResult result = prebuild(sandbox, {"--skip-refused", "--json"});
  CHECK(result.status == 0);
  CHECK(result.json()["kernels"] == 1);
  CHECK(result.json()["refused"][0]["parameters"]["hidden_size"] == 257);
  CHECK(contains(result.err, "257"));
  sandbox.write("m.json", R"({"kernels": [{"template": "rms_norm",
    "parameters": {"hidden_size": [257]}, "targets": ["sm_80"]}]})");
  CHECK(prebuild(sandbox, {"--skip-refused"}).status == 2);
}

TEST_CASE("kernels that do not compile leave a partial bundle and the next good run removes it") {
  const Sandbox sandbox;
  sandbox.write("partly.cu", kPartlyBroken);
  sandbox.write(
      "m.json",
      R"({"kernels": [{"template": "partly", "parameters": {"value": [1, 2]}, "targets": ["sm_80"]}]})");
  const std::vector<std::string> file = {"--template-file", sandbox.path("partly.cu")};
  const ToolResult result = prebuild(sandbox, {file[0], file[1], "--json"});
  CAPTURE(result.out);
  CHECK(result.status == 2);
  CHECK(result.json()["error"]["code"] == "compile_failed");
  CHECK(result.json()["failed"].size() == 1);
  CHECK(result.json()["kernels"] == 1);
  CHECK_FALSE(std::filesystem::exists(sandbox / "b.bundle"));
  CHECK(run_tool({"bundle", "verify", sandbox.path("b.bundle.partial")}).status == 0);
  sandbox.write(
      "m.json",
      R"({"kernels": [{"template": "partly", "parameters": {"value": [1]}, "targets": ["sm_80"]}]})");
  CHECK(prebuild(sandbox, {file[0], file[1]}).status == 0);
  CHECK(std::filesystem::exists(sandbox / "b.bundle"));
  CHECK_FALSE(std::filesystem::exists(sandbox / "b.bundle.partial"));
}

TEST_CASE("a matrix that is wrong, missing or of unknown kernels builds nothing") {
  const Sandbox sandbox;
  CHECK(prebuild(sandbox).status == 2);
  for (
      const char* matrix :
      {"", "{", R"({"kernels": []})", R"({"kernels": [{"template": "nothing", "targets": ["sm_80"]}]})",
       R"({"kernels": [{"template": "rms_norm", "parameters": {"hidden_size": [256]}, "targets": ["sm_101a"]}]})"}) {
    CAPTURE(matrix);
    sandbox.write("m.json", matrix);
    const ToolResult result = prebuild(sandbox, {"--json"});
    CHECK(result.status == 2);
    CHECK(result.json().contains("error"));
  }
  CHECK_FALSE(std::filesystem::exists(sandbox / "b.bundle"));
}

TEST_CASE("prebuild without a compiler ends with 3, or bundles what the home holds") {
  const Sandbox sandbox;
  sandbox.write("m.json", kMatrix);
  sandbox.write("none.so", "");
  const std::vector<std::string> none = {"--nvrtc", sandbox.path("none.so"), "--json"};
  const ToolResult missing = prebuild(sandbox, none);
  CHECK(missing.status == 3);
  CHECK(missing.json()["error"]["code"] == "unavailable");
  REQUIRE(prebuild(sandbox).status == 0);
  CHECK(prebuild(sandbox, none).json()["reused"] == 4);
}

TEST_CASE("prebuild refuses sizes and outputs that are none") {
  const Sandbox sandbox;
  sandbox.write("m.json", kMatrix);
  CHECK(prebuild(sandbox, {"--memory", "much"}).status == 2);
  CHECK(prebuild(sandbox, {"--bundle-version", "1.0"}).status == 2);
  CHECK(sandbox.run({"prebuild", sandbox.path("m.json"), "-o", sandbox.path("missing/b")}).status == 2);
  CHECK(sandbox.run({"prebuild", sandbox.path("m.json")}).status == 2);
}

TEST_CASE(
    "a channel that no bundle can have is told before anything is compiled, and the file may have any") {
  const Sandbox sandbox;
  sandbox.write("m.json", R"({"kernels": [{"template": "rms_norm",
    "parameters": {"hidden_size": 256}, "targets": ["sm_80"]}]})");
  const ToolResult refused = prebuild(sandbox, {"--channel", "two\nlines"});
  CHECK(refused.status == 2);
  CHECK_FALSE(contains(refused.err, "[1/"));
  CHECK_FALSE(std::filesystem::exists(sandbox.home()));
  CHECK(sandbox.run({"bundle", "create", "-o", sandbox.path("x.bundle"), "--channel", "\x1b[1m"}).status ==
        2);
  const std::string odd = sandbox.path("two\nlines.bundle");
  REQUIRE(sandbox.run({"prebuild", sandbox.path("m.json"), "-o", odd}).status == 0);
  CHECK(run_tool({"bundle", "list", odd, "--json"}).json()["channel"] == "two\nlines");
}

TEST_CASE("prebuild writes over nothing that it reads or that is not its own") {
  const Sandbox sandbox;
  sandbox.write("m.json", kMatrix);
  REQUIRE(sandbox.run({"registry", "repair"}).status == 0);
  const std::string matrix = sandbox.path("m.json");
  const std::string index = sandbox.read("home/index.sqlite");
  std::filesystem::create_directory(sandbox / "b.bundle.partial");
  sandbox.write("x.partial", kMatrix);
  const std::vector<std::vector<std::string>> lines = {{matrix, "-o", matrix},
                                                       {matrix, "-o", sandbox.path("home/index.sqlite")},
                                                       {matrix, "-o", sandbox.path("b.bundle")},
                                                       {sandbox.path("x.partial"), "-o", sandbox.path("x")},
                                                       {matrix, "-o", sandbox.path(std::string(215, 'x'))}};
  for (std::vector<std::string> line : lines) {
    CAPTURE(line.back());
    line.insert(line.begin(), "prebuild");
    const ToolResult result = sandbox.run(line);
    CHECK(result.status == 2);
    CHECK_FALSE(contains(result.err, "[1/"));
  }
  CHECK(sandbox.read("m.json") == kMatrix);
  CHECK(sandbox.read("x.partial") == kMatrix);
  CHECK(sandbox.read("home/index.sqlite") == index);
}

namespace {

constexpr const char* kDecodeProblems =
    "--batch 4 --kv-len 2048 --heads-q 32 --heads-kv 8\n--batch 1,4 --kv-len 2048 --heads-q 32 --heads-kv "
    "8\n";

std::vector<std::string> problem_line(const Sandbox& sandbox) {
  return {"prebuild", "-o",         sandbox.path("b.bundle"), "--device", "9.0",
          "--json",   "--problems", sandbox.path("p.txt")};
}

}  // namespace

TEST_CASE("prebuild of problems makes the kernels that select names, each once") {
  const Sandbox sandbox;
  sandbox.write("p.txt", kDecodeProblems);
  const ToolResult built = sandbox.run(problem_line(sandbox));
  REQUIRE_MESSAGE(built.status == 0, built.err);
  CHECK(built.json()["unserved"].empty());
  CHECK(built.json()["compiled"] == built.json()["kernels"]);
  const auto listed = run_tool({"bundle", "list", sandbox.path("b.bundle"), "--json"}).json()["records"];
  REQUIRE_FALSE(listed.empty());
  CHECK(listed.size() < 6);
  // A home that has the bundle and no compiler serves the problem.
  const Sandbox fleet;
  REQUIRE(fleet.run({"bundle", "import", sandbox.path("b.bundle")}).status == 0);
  const ToolResult selected = fleet.run({"select", "attention", "--device", "9.0", "--batch", "4", "--kv-len",
                                         "2048", "--heads-q", "32", "--heads-kv", "8", "--json"});
  REQUIRE_MESSAGE(selected.status == 0, selected.err);
  std::set<std::string> digests;
  for (const auto& record : listed)
    digests.insert(record["sha256"].get<std::string>());
  CHECK(digests.contains(selected.json()["digest"].get<std::string>()));
  CHECK(sandbox.run(problem_line(sandbox)).json()["compiled"] == 0);
}

TEST_CASE("prebuild builds a matrix and problems together, and lists the problems that nothing serves") {
  const Sandbox sandbox;
  sandbox.write("m.json", kMatrix);
  sandbox.write("p.txt", std::string(kDecodeProblems) +
                             "--op prefill --batch 1 --kv-len 512 --heads-q 8 --mask custom\n");
  auto line = problem_line(sandbox);
  line.insert(line.begin() + 1, sandbox.path("m.json"));
  const ToolResult built = sandbox.run(line);
  CHECK_MESSAGE(built.status == 1, built.err);
  REQUIRE(built.json()["unserved"].size() == 1);
  CHECK(built.json()["unserved"][0]["problem"] ==
        "--op prefill --batch 1 --kv-len 512 --heads-q 8 --mask custom");
  CHECK(built.json()["kernels"] > 4);
  CHECK(run_tool({"bundle", "verify", sandbox.path("b.bundle")}).status == 0);
  sandbox.write("p.txt", "--op prefill --batch 1 --kv-len 512 --heads-q 8 --mask custom\n");
  const ToolResult none = sandbox.run(problem_line(sandbox));
  CHECK(none.status == 2);
  CHECK(contains(none.json()["error"]["message"].get<std::string>(), "there is nothing to build"));
}

TEST_CASE(
    "prebuild of a problem over a shared prefix makes the kernels of a workload that select has written") {
  const Sandbox sandbox;
  const std::string problem = "--batch 64 --kv-len 2048 --shared-prefix 2000 --heads-q 4 --head-dim-qk 64";
  sandbox.write("p.txt", problem + "\n" + problem + " --window 100\n");
  const ToolResult built = sandbox.run(problem_line(sandbox));
  CHECK_MESSAGE(built.status == 1, built.err);
  REQUIRE(built.json()["unserved"].size() == 1);
  CHECK(contains(built.json()["unserved"][0]["reason"].get<std::string>(), "hides tokens of a prefix"));
  std::set<std::string> templates;
  const auto results = built.json()["results"];
  for (const auto& kernel : results)
    templates.insert(kernel["template"].get<std::string>());
  CHECK(templates.contains("attention_decode"));
  CHECK(templates.contains("attention_merge"));
  const ToolResult selected = select_in(sandbox, problem + " --device 9.0 --workload " + sandbox.path("w"));
  REQUIRE_MESSAGE(selected.status == 0, selected.err);
  const ToolResult again =
      sandbox.run({"prebuild", "-o", sandbox.path("w.bundle"), "--workload", sandbox.path("w"), "--json"});
  REQUIRE_MESSAGE(again.status == 0, again.err);
  CHECK(again.json()["compiled"] == 0);
  CHECK(again.json()["kernels"] == built.json()["kernels"]);
}

TEST_CASE("prebuild without a matrix or problems, or with half of them, is wrong usage") {
  const Sandbox sandbox;
  sandbox.write("p.txt", kDecodeProblems);
  CHECK(contains(sandbox.run({"prebuild", "-o", sandbox.path("b")}).err, "neither a matrix nor problems"));
  sandbox.write("empty.workload", "{\"cubinet_workload\":1,\"lines\":0}\n");
  const ToolResult empty =
      sandbox.run({"prebuild", "-o", sandbox.path("b"), "--workload", sandbox.path("empty.workload")});
  CHECK(empty.status == 2);
  CHECK(contains(empty.err, "nor a workload with entries are given"));
  CHECK(sandbox.run({"prebuild", "-o", sandbox.path("b"), "--problems", sandbox.path("p.txt")}).status == 2);
  CHECK(sandbox.run({"prebuild", "-o", sandbox.path("b"), "--device", "9.0"}).status == 2);
  auto sharded = problem_line(sandbox);
  sharded.insert(sharded.end(), {"--shard", "1/2"});
  CHECK(sandbox.run(sharded).status == 2);
}

TEST_CASE("prebuild merges the workloads that select has written, and lists lines of no meaning") {
  const Sandbox sandbox;
  const auto select = [&](const std::string& batch, const std::string& file) {
    const ToolResult selected =
        sandbox.run({"select", "attention", "--device", "9.0", "--batch", batch, "--kv-len", "2048",
                     "--heads-q", "32", "--heads-kv", "8", "--workload", sandbox.path(file)});
    REQUIRE_MESSAGE(selected.status == 0, selected.err);
  };
  select("4", "a");
  select("1", "b");
  select("4", "b");
  const std::vector<std::string> line = {
      "prebuild",        "-o",         sandbox.path("b.bundle"), "--json", "--workload",
      sandbox.path("a"), "--workload", sandbox.path("b")};
  const ToolResult built = sandbox.run(line);
  REQUIRE_MESSAGE(built.status == 0, built.err);
  CHECK(built.json()["compiled"] > 0);
  CHECK(sandbox.run(line).json()["compiled"] == 0);
  sandbox.write("b", sandbox.read("b") + "nonsense\n");
  const ToolResult damaged = sandbox.run(line);
  CHECK(damaged.status == 1);
  CHECK(contains(damaged.json()["unserved"][0]["reason"].get<std::string>(), "line 4"));
  CHECK(damaged.json()["kernels"] == built.json()["kernels"]);
  sandbox.write("b", "{\"cubinet_workload\":2,\"lines\":0}\n");
  CHECK(sandbox.run(line).status != 0);
  const std::string kept = sandbox.read("a");
  CHECK(sandbox.run({"prebuild", "-o", sandbox.path("a"), "--workload", sandbox.path("a")}).status == 2);
  CHECK(sandbox.read("a") == kept);
  std::vector<std::string> sharded = line;
  sharded.insert(sharded.end(), {"--shard", "1/2"});
  CHECK(sandbox.run(sharded).status == 2);
}
