// SPDX-License-Identifier: Apache-2.0
#include "attention/problems.hpp"
#include "select_line.hpp"
#include "support/published_header.hpp"

#include <cubinet/kernel_table/row_codec.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <sstream>

using namespace cubinet;
using namespace cubinet::test;

namespace {

ToolResult select(const std::string& options) {
  return select_in(Sandbox{}, options);
}

nlohmann::json assumed(const std::string& options) {
  const ToolResult result = select("--device sm_100 --sm-count 148 --assume-all-kernels " + options);
  CAPTURE(options);
  CAPTURE(result.out);
  REQUIRE(result.status == 0);
  return result.json();
}

// kernel_type tile_size_q head_dim_per_cta_v two_cta mode scheduler splits grid cluster passes
std::string decision(const nlohmann::json& d) {
  std::ostringstream text;
  text << d["kernel_type"].get<std::string>() << " " << d["tile_size_q"] << " " << d["head_dim_per_cta_v"]
       << (d["two_cta"].get<bool>() ? " pair " : " ") << d["multi_ctas_kv_mode"].get<std::string>() << " "
       << d["scheduler"].get<std::string>() << " " << d["kv_splits"] << " " << d["grid"][0] << "x"
       << d["grid"][1] << "x" << d["grid"][2] << " " << d["cluster_x"] << " " << d["passes"];
  return text.str();
}

std::string candidates(const nlohmann::json& d) {
  std::ostringstream text;
  for (const auto& c : d["candidates"]) {
    text << (text.str().empty() ? "" : ", ") << c["tile_size_q"] << ":" << c["kv_splits"] << ":" << c["ctas"]
         << ":" << std::round(c["time"].get<double>() * 10) / 10;
  }
  return text.str();
}

struct Example {
  const char* options;
  const char* decision;
  const char* candidates;
};

// The rows of a DeepSeek decode on both of its targets, as a file in the sandbox.
std::string table_in(const Sandbox& sandbox) {
  std::vector<KernelRow> rows;
  for (const KernelRow& row : rows_for(generation(64, 1, 8192, 64, 8))) {
    for (const SmTarget target :
         {SmTarget{10, 0, TargetKind::family}, SmTarget{10, 0, TargetKind::specific}}) {
      rows.push_back(row);
      rows.back().target = target;
      rows.back().function_name += target.to_string();
    }
  }
  sandbox.write("table.h", published_header(rows));
  return "--table " + sandbox.path("table.h");
}

const char* const kLlama = " --batch 64 --kv-len 8192 --heads-q 64 --heads-kv 8 --device sm_100 ";

}  // namespace

TEST_CASE("a problem whose tensors no device addresses is refused") {
  const ToolResult result = select(
      "--device sm_100 --sm-count 148 --assume-all-kernels --op prefill --batch 65535 --q-len 1073741824 "
      "--kv-len 1073741824 --heads-q 32 --heads-kv 8 --lse");
  CHECK(result.status == 2);
  const std::string message = result.json()["error"]["message"];
  CAPTURE(message);
  CHECK(contains(message, "must not exceed 2^56 bytes"));
}

TEST_CASE("an address that is no number is refused with the form of one") {
  for (const char* wrong : {"q", "q=", "q=0x", "q=0x12g", "q=7", "q=0x11112222333344445"}) {
    const ToolResult refused =
        select(std::string(kLlama) + "--assume-all-kernels --launch --address " + wrong);
    CAPTURE(wrong);
    CHECK(refused.status == 2);
    CHECK(contains(refused.json()["error"]["message"].get<std::string>(), "is no address of a tensor"));
    CHECK(contains(refused.json()["error"]["remedy"].get<std::string>(), "NAME=0x"));
  }
}

TEST_CASE("select reproduces the published worked examples") {
  const Example examples[] = {
      {"--batch 1 --kv-len 4096 --heads-q 32 --heads-kv 8", "swaps 8 128 cga static 8 8x8x1 8 2", ""},
      {"--batch 64 --kv-len 8192 --heads-q 64 --heads-kv 8", "swaps 8 128 disabled persistent 1 1x8x64 1 2",
       ""},
      {"--batch 2 --q-len 4 --kv-len 16384 --heads-q 16 --heads-kv 2",
       "swaps 32 128 gmem static 32 32x2x2 1 1", ""},
      {"--batch 32 --q-len 8 --kv-len 16384 --heads-q 16 --heads-kv 2",
       "keeps 64 128 gmem static 2 2x2x32 1 1", ""},
      {"--op mla-decode --batch 8 --kv-len 4096 --heads-q 128",
       "keeps 64 256 pair gmem_separate static 9 18x1x8 2 1", ""},
      {"--op mla-decode --batch 256 --kv-len 4096 --heads-q 128",
       "keeps 64 256 pair disabled persistent 1 2x1x256 2 2", ""},
      {"--batch 1 --q-len 8 --kv-len 2048 --heads-q 16 --heads-kv 2", "swaps 8 128 cga static 4 32x2x1 4 2",
       "64:4:8:1474.6, 32:4:16:1310.7, 16:4:32:1141.8, 8:4:64:1024"},
      {"--batch 2 --q-len 8 --kv-len 1024 --heads-q 16 --heads-kv 2", "swaps 8 128 cga static 2 16x2x2 2 2",
       "64:2:8:1167.4, 32:2:16:1034.2, 16:2:32:878.1, 8:2:64:768"},
      {"--batch 4 --q-len 3 --kv-len 4096 --heads-q 10 --heads-kv 2", "swaps 8 128 cga static 6 18x2x4 6 2",
       "16:8:64:1669.1, 8:6:144:1536"},
  };
  for (const Example& example : examples) {
    CAPTURE(example.options);
    const nlohmann::json document = assumed(example.options);
    CHECK(decision(document) == example.decision);
    CHECK(candidates(document) == example.candidates);
    CHECK(document["key"].is_null());
    CHECK(document["target"].is_null());
    CHECK(document["function"].is_null());
    CHECK(document["backend"] == "published");
    CHECK(document["tile_size_kv"] == 128);
    CHECK_FALSE(document["reason"].get<std::string>().empty());
  }
}

// Worked out by hand from the rules: 148 SMs, steps of 256 tokens, two of them a split.
TEST_CASE("select follows the rules at their edges") {
  const Example examples[] = {
      // One head a KV head: 32 CTAs, four splits each fill the device.
      {"--batch 1 --kv-len 4096 --heads-q 32", "swaps 8 128 cga static 4 4x32x1 4 2", ""},
      // A group of 256: two CTAs for its heads, one token a tile, and nothing that the model could
      // compare.
      {"--batch 4 --q-len 3 --kv-len 4096 --heads-q 256 --heads-kv 1",
       "keeps 128 128 gmem static 6 18x2x4 1 1", ""},
      // A group of 128 leaves the largest tile alone: 2 tokens, 1 split of 256 tokens.
      {"--batch 1 --q-len 2 --kv-len 256 --heads-q 128 --heads-kv 1",
       "keeps 128 128 disabled persistent 1 2x1x1 1 2", "128:1:2:732.2"},
      // Five tokens of a group of 8: 40 rows; tiles of 64, 32, 16, 8 take 1, 2, 3, 5 CTAs.
      {"--batch 1 --q-len 5 --kv-len 1024 --heads-q 8 --heads-kv 1", "swaps 8 128 cga static 2 10x1x1 2 2",
       "64:2:2:1167.4, 32:2:4:1034.2, 16:2:6:878.1, 8:2:10:768"},
      // More splits than a cluster holds stay in global memory.
      {"--batch 1 --kv-len 131072 --heads-q 8 --heads-kv 1", "swaps 8 128 gmem static 148 148x1x1 1 1", ""},
      // A window of 128 reaches 383 tokens: no split.
      {"--batch 1 --kv-len 65536 --heads-q 32 --heads-kv 8 --window 128",
       "swaps 8 128 disabled persistent 1 1x8x1 1 2", ""},
      // A window as long as KV is none.
      {"--batch 1 --kv-len 4096 --heads-q 32 --heads-kv 8 --window 4096",
       "swaps 8 128 cga static 8 8x8x1 8 2", ""},
      // Mixed precision: tiles of 8 or 16 by the group, a CTA a token, nothing compared.
      {"--batch 1 --q-len 4 --kv-len 2048 --heads-q 64 --heads-kv 8 --dtype-kv e4m3",
       "swaps 8 128 cga static 4 16x8x1 4 2", ""},
      {"--batch 1 --kv-len 2048 --heads-q 64 --heads-kv 4 --dtype-q e4m3 --dtype-kv e4m3 --dtype-o e2m1",
       "swaps 16 128 cga static 4 4x4x1 4 2", ""},
      // Head dim 256: one CTA has all columns of V.
      {"--batch 8 --kv-len 8192 --heads-q 16 --heads-kv 8 --head-dim-qk 256",
       "swaps 8 256 cga static 2 2x8x8 2 2", ""},
      // Latent attention: swaps while the CTAs are few, and the columns of V divided while the
      // device is not full.
      {"--op mla-decode --batch 1 --kv-len 4096 --heads-q 128", "swaps 16 128 gmem static 4 4x32x1 1 2", ""},
      {"--op mla-decode --batch 1 --kv-len 32768 --heads-q 128",
       "keeps 64 256 pair gmem_separate static 74 148x1x1 2 1", ""},
      {"--op mla-decode --batch 64 --kv-len 4096 --heads-q 128",
       "keeps 64 256 pair disabled persistent 1 2x1x64 2 2", ""},
      {"--op mla-decode --batch 4 --kv-len 4096 --heads-q 16", "swaps 16 128 cga static 8 8x4x4 8 3", ""},
      {"--op mla-decode --batch 2 --kv-len 8192 --heads-q 64", "swaps 16 512 cga static 16 16x4x2 16 2", ""},
      {"--op mla-decode --batch 64 --kv-len 8192 --heads-q 64",
       "keeps 64 512 gmem_separate static 2 2x1x64 1 1", ""},
      // Prefill: tiles of 128 in steps of 256, persistent, never split.
      {"--op prefill --batch 4 --q-len 511 --kv-len 2047 --heads-q 64 --heads-kv 8",
       "context 128 128 disabled persistent 1 2x64x4 1 1", ""},
      {"--op prefill --batch 1 --kv-len 512 --heads-q 8 --head-dim-qk 256",
       "context 128 256 disabled persistent 1 4x8x1 1 1", ""},
  };
  for (const Example& example : examples) {
    CAPTURE(example.options);
    const nlohmann::json document = assumed(example.options);
    CHECK(decision(document) == example.decision);
    CHECK(candidates(document) == example.candidates);
  }
}

TEST_CASE("select names a row of the table with its key, target and function") {
  const Sandbox sandbox;
  const ToolResult result = select_in(sandbox, table_in(sandbox) + kLlama);
  CAPTURE(result.out);
  REQUIRE(result.status == 0);
  const auto document = result.json();
  CHECK(document["requested"] == "auto");
  CHECK(document["backend"] == "published");
  CHECK(document["target"] == "sm_100a");
  CHECK(document["function"].get<std::string>().ends_with("sm_100a"));
  const auto key = document["key"].get<std::string>();
  CHECK(key.size() == 16);
  CHECK(key.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(document["launchable"] == false);
  CHECK(document["exists"] == true);
  CHECK(document["declines"].empty());
  CHECK(document["workspace"]["scratch_bytes"] == 0);
  CHECK(document["device"]["sm_count"] == 148);
  CHECK(document["problem"]["q_len"] == 1);
}

TEST_CASE("the policy prefers, forbids and pins targets") {
  const Sandbox sandbox;
  const std::string table = table_in(sandbox) + kLlama;
  CHECK(select_in(sandbox, table + "--prefer family").json()["target"] == "sm_100f");
  CHECK(select_in(sandbox, table + "--forbid sm_100a").json()["target"] == "sm_100f");
  CHECK(select_in(sandbox, table + "--pin sm_100f").json()["policy"]["pinned"] == "sm_100f");
  const ToolResult none = select_in(sandbox, table + "--forbid sm_100a,sm_100f");
  CHECK(none.status == 1);
  CHECK(none.json()["nearest"][0]["policy"].get<std::string>().find("is forbidden") != std::string::npos);
  CHECK(select_in(sandbox, table + "--pin sm_100f --forbid sm_100f").status == 2);
}

TEST_CASE("a miss ends with 1 and tells the nearest rows, what differs and what would help") {
  const Sandbox sandbox;
  const ToolResult result = select_in(sandbox, table_in(sandbox) + kLlama + "--page-size 32");
  REQUIRE(result.status == 1);
  const auto document = result.json();
  CHECK(document["backend"].is_null());
  CHECK(document["error"]["code"] == "unsupported");
  CHECK(document["declines"][0]["backend"] == "published");
  const auto nearest = document["nearest"][0];
  CHECK(nearest["differences"][0]["column"] == "tokens_per_page");
  CHECK(nearest["differences"][0]["wanted"] == "32");
  CHECK(nearest["differences"][0]["found"] == "64");
  CHECK(nearest["runs_here"] == true);
  CHECK(contains(document["fixes"].dump(), "cubinet compile attention_decode"));
}

TEST_CASE("on a device that no row runs on the rule of the architecture is told") {
  const Sandbox sandbox;
  const ToolResult result = select_in(
      sandbox, table_in(sandbox) + " --batch 64 --kv-len 8192 --heads-q 64 --heads-kv 8 --device 9.0");
  REQUIRE(result.status == 1);
  const auto document = result.json();
  CHECK(contains(document["reason"].get<std::string>(), "runs on 9.0"));
  CHECK(document["nearest"][0]["runs_here"] == false);
  CHECK(contains(document["nearest"][0]["architecture"].get<std::string>(), "the device is 9.0"));
  CHECK(contains(document["fixes"].dump(), "--target sm_90a"));
}

TEST_CASE("without a table our templates serve what they can, and say what they cannot") {
  const std::string problem = " --batch 4 --kv-len 8192 --heads-q 32 --heads-kv 8 --device 9.0";
  const auto document = select(problem).json();
  CHECK(document["backend"] == "templates");
  CHECK(document["kernel_type"] == "keeps");
  CHECK(document["target"] == "sm_90a");
  CHECK(document["function"] == "attention_decode");
  CHECK(document["launchable"] == true);
  CHECK(document["exists"] == false);
  CHECK(document["specification"]["template"] == "attention_decode");
  CHECK(document["key"].get<std::string>().size() == 16);
  CHECK(select(problem + " --sinks").json()["backend"] == "templates");
  CHECK(select(problem + " --q-len 4 --mask custom").json()["backend"] == "templates");
  CHECK(select(problem + " --page-size 0").json()["function"] == "attention_prefill_wgmma");
  const ToolResult contiguous = select(problem + " --page-size 0 --mask custom");
  CHECK(contiguous.status == 1);
  CHECK(contiguous.json()["declines"].size() == 2);
  CHECK(contains(contiguous.json()["fixes"].dump(), "cubinet import-artifacts"));
  CHECK(contains(contiguous.json()["reason"].get<std::string>(), "decode attention reads paged KV"));
}

TEST_CASE("a backend that is named is asked alone") {
  const Sandbox sandbox;
  const std::string table = table_in(sandbox) + kLlama;
  const auto ours = select_in(sandbox, table + "--backend templates").json();
  CHECK(ours["requested"] == "templates");
  CHECK(ours["backend"] == "templates");
  const ToolResult declined = select(std::string(kLlama) + "--backend published");
  CHECK(declined.status == 1);
  CHECK(declined.json()["declines"].size() == 1);
  const ToolResult unknown = select(std::string(kLlama) + "--backend fa3");
  CHECK(unknown.status == 2);
  CHECK(contains(unknown.json()["error"]["remedy"].get<std::string>(), "templates"));
}

TEST_CASE("rows that cannot be read are told on stderr and the others serve") {
  const Sandbox sandbox;
  std::string header = published_header(rows_for(generation(64, 1, 8192, 64, 8)));
  header.insert(header.find("\n};\n", header.find("sInfos")) + 1, "{ 1, 2 },\n");
  sandbox.write("table.h", header);
  const ToolResult result = select_in(sandbox, "--table " + sandbox.path("table.h") + kLlama);
  CHECK(result.status == 0);
  CHECK(contains(result.err, "table.h:"));
  CHECK(select_in(sandbox, "--table " + sandbox.path("none.h") + kLlama).status == 2);
  sandbox.write("empty.h", "");
  CHECK(select_in(sandbox, "--table " + sandbox.path("empty.h") + kLlama).status == 2);
}

TEST_CASE("over a shared prefix select names the kernels of both attentions and of the merge") {
  const std::string problem =
      "--batch 64 --kv-len 33792 --shared-prefix 32768 --heads-q 32 --heads-kv 8 --device 9.0 ";
  const Sandbox sandbox;
  const auto document = select_in(sandbox, problem + "--workload " + sandbox.path("w")).json();
  CHECK(document["shared_prefix"] == 32768);
  CHECK(document["problem"]["kv_len"] == 33792);
  CHECK(document["own"]["function"] == "attention_decode");
  CHECK(contains(document["prefix"]["function"].get<std::string>(), "attention_"));
  CHECK(document["prefix"]["mask"] == "dense");
  for (const char* part : {"own", "prefix"})
    CHECK(contains(document[part]["trace"].dump(), "us by the cost model"));
  CHECK(document["merge"] == "attention_merge(dtype=bf16, dtype_o=bf16)");
  const std::string workload = sandbox.read("w");
  CHECK(contains(workload, "\"kv_len\":1024"));
  CHECK(contains(workload, "\"kv_len\":32768"));
  CHECK(contains(workload, "\"name\":\"attention_merge\""));
  const ToolResult window = select(problem + "--window 100");
  CHECK(window.status == 1);
  CHECK(contains(window.json()["error"]["message"].get<std::string>(), "--window is 100"));
  const ToolResult launch = select(problem + "--launch");
  CHECK(launch.status == 2);
  CHECK(contains(launch.json()["error"]["message"].get<std::string>(), "a shared prefix makes two"));
}

TEST_CASE("wrong usage of select ends with 2") {
  const std::string good = "--batch 1 --kv-len 4096 --heads-q 32 --heads-kv 8 --device sm_100 ";
  CHECK(select(good).status == 0);
  for (const char* more :
       {"--assume-all-kernels --table x.h", "--dtype-q bf17", "--mask none", "--op train", "--batch 0",
        "--heads-kv 5", "--page-size 12", "--q-len 5000", "--prefer specific", "--pin sm_101a", "--window 0",
        "--head-dim-v 129", "--op mla-decode --head-dim-qk 128", "--kv-scales head",
        "--append --dtype-kv fp16"}) {
    CAPTURE(more);
    CHECK(select(good + more).status == 2);
  }
  CHECK(select("--batch 1 --kv-len 4096 --heads-q 32").status == 2);
  CHECK(select("--kv-len 4096 --heads-q 32 --device 10.3").status == 2);
  CHECK(select("--kv-len 4096 --heads-q 32 --device hopper").status == 2);
}

TEST_CASE("the text of select is the decision and then the trace") {
  const ToolResult result = run_tool({"select", "attention", "--kv-len", "2048", "--q-len", "8", "--heads-q",
                                      "16", "--heads-kv", "2", "--device", "10.0", "--assume-all-kernels"});
  REQUIRE(result.status == 0);
  CHECK(result.out.starts_with("a kernel that is assumed to exist: swaps 8x128"));
  CHECK(contains(result.out, "tile 16: 4 splits, 32 CTAs, time 1141.8"));
  CHECK(contains(result.out, "pass 2:"));
  const ToolResult shared = run_tool({"select", "attention", "--kv-len", "2048", "--shared-prefix", "1024",
                                      "--heads-q", "16", "--device", "9.0"});
  REQUIRE(shared.status == 0);
  std::istringstream lines(shared.out);
  int estimates = 0;
  std::string last;
  for (std::string line; std::getline(lines, line); last = line) {
    if (line.starts_with("  ") && line.ends_with(" us by the cost model")) ++estimates;
  }
  CHECK(estimates == 2);
  CHECK(last.starts_with("merge"));
}
