// SPDX-License-Identifier: Apache-2.0
#include "support/server_process.hpp"
#include "support/skip.hpp"
#include "tool.hpp"

#include <cubinet/spec/cubin_elf.hpp>

#include <doctest/doctest.h>

using namespace cubinet::test;

namespace {

const std::vector<std::string> kNorm = {"compile", "rms_norm", "-p", "hidden_size=256"};

ToolResult compile(const Sandbox& sandbox, const std::vector<std::string>& more,
                   const ToolSetting& setting = {}) {
  std::vector<std::string> line = kNorm;
  line.insert(line.end(), more.begin(), more.end());
  return sandbox.run(line, setting);
}

constexpr const char* kBrokenTemplate = R"(/* cubinet-template
{ "name": "broken", "interface": 1, "summary": "does not compile", "minimum_target": "sm_80", "parameters": [],
  "constraints": [],
  "kernels": [ {"name": "broken", "threads": "32", "dynamic_shared_bytes": "0", "parameter_bytes": 0} ] }
*/
extern "C" __global__ void broken() { undeclared = 7; }
)";

}  // namespace

TEST_CASE("compile writes a cubin, keeps it in the home, and finds it there the next time") {
  const Sandbox sandbox;
  const std::string file = sandbox.path("norm.cubin");
  const ToolResult first = compile(sandbox, {"--target", "sm_90a", "-o", file, "--json"});
  CAPTURE(first.err);
  REQUIRE(first.status == 0);
  CHECK(first.json()["results"][0]["source"] == "compiled");
  CHECK(first.json()["results"][0]["file"] == file);
  const std::string content = sandbox.read("norm.cubin");
  const auto inspection = cubinet::inspect_cubin(cubinet::as_bytes(content));
  REQUIRE(inspection);
  CHECK(inspection->target_name() == "sm_90a");
  const auto second = compile(sandbox, {"--target", "sm_90a", "-o", file, "--json"}).json();
  CHECK(second["results"][0]["source"] == "registry");
  CHECK(second["results"][0]["sha256"] == first.json()["results"][0]["sha256"]);
  CHECK(sandbox.read("norm.cubin") == content);
}

TEST_CASE("what lies in a bundle is not compiled again, and is kept in the home") {
  const Sandbox maker;
  const std::string bundle = maker.path("b.bundle");
  REQUIRE(compile(maker, {"--target", "sm_90a"}).status == 0);
  REQUIRE(maker.run({"bundle", "create", "-o", bundle}).status == 0);
  const Sandbox user;
  const ToolResult taken = compile(user, {"--target", "sm_90a,sm_80", "--bundle", bundle, "--json"});
  REQUIRE_MESSAGE(taken.status == 0, taken.err);
  CHECK(taken.json()["results"][0]["source"] == "bundle");
  CHECK(taken.json()["results"][1]["source"] == "compiled");
  CHECK(compile(user, {"--target", "sm_90a", "--json"}).json()["results"][0]["source"] == "registry");
  CHECK(compile(user, {"--target", "sm_90a", "--bundle", bundle, "-o", bundle}).status == 2);
}

TEST_CASE("one node compiles and another takes that from the cache, if it lists who signed it") {
  const auto nginx = Nginx::start();
  if (!nginx) return;
  const Sandbox writer;
  const Sandbox reader;
  const Sandbox stranger;
  const std::string cache = nginx->url("/builds");
  const auto generated = writer.run({"trust", "keygen", writer.path("writer.key"), "--json"});
  REQUIRE_MESSAGE(generated.status == 0, generated.err);
  const std::string key = generated.json()["public_key"];
  const auto build_on = [&](const Sandbox& node, const std::vector<std::string>& more) {
    std::vector<std::string> line = {"compile", "rms_norm", "-p",  "hidden_size=64", "--target",
                                     "sm_80",   "--cache",  cache, "--plain-http",   nginx->authority(),
                                     "--json"};
    line.insert(line.end(), more.begin(), more.end());
    return node.run(line);
  };
  CHECK(build_on(writer, {}).json()["error"]["code"] == "untrusted");
  for (const Sandbox* node : {&writer, &reader})
    node->write("policy.json",
                R"({"stores": [{"place": ")" + cache + R"(", "trusted_keys": [")" + key + R"("]}]})");
  const auto made =
      build_on(writer, {"--policy", writer.path("policy.json"), "--cache-key", writer.path("writer.key")});
  REQUIRE_MESSAGE(made.status == 0, made.err);
  CHECK(made.json()["results"][0]["source"] == "compiled");
  const auto taken = build_on(reader, {"--policy", reader.path("policy.json")});
  REQUIRE_MESSAGE(taken.status == 0, taken.err);
  CHECK(taken.json()["results"][0]["source"] == "server");
  CHECK(taken.json()["results"][0]["sha256"] == made.json()["results"][0]["sha256"]);
  const auto hits = reader.run({"registry", "stats", "--hits", "--json"}).json()["hits"]["servers"];
  REQUIRE(hits.size() == 1);
  CHECK(hits[0]["place"] == cache);
  CHECK(hits[0]["used"] == 1);
  CHECK(reader.run({"outdated"}).status == 0);
  const Sandbox asker;
  const auto explained = [&](const std::string& size) {
    return asker
        .run({"--policy", reader.path("policy.json"), "explain", "rms_norm", "-p", "hidden_size=" + size,
              "--device", "8.0", "--cache", cache, "--plain-http", nginx->authority(), "--json"})
        .json();
  };
  const auto there = explained("64");
  CHECK(there["chosen"]["source"] == "server");
  CHECK(there["chosen"]["place"] == cache);
  CHECK(there["caches"][0]["found"] == true);
  const auto not_there = explained("128");
  CHECK(not_there["would_compile"] == "sm_80");
  CHECK(not_there["caches"][0]["asked"] == true);
  CHECK(not_there["caches"][0]["found"] == false);
  CHECK(build_on(reader, {"--policy", reader.path("policy.json")}).json()["results"][0]["source"] ==
        "registry");
  // A cache entry under another key is not used. The server is not contacted with --offline. A key
  // without a cache is a usage error.
  stranger.write(
      "policy.json",
      R"({"default": {"trusted_keys": [")" +
          std::string(stranger.run({"trust", "keygen", stranger.path("k"), "--json"}).json()["public_key"]) +
          R"("]}})");
  const auto refused = build_on(stranger, {"--policy", stranger.path("policy.json")});
  CHECK(refused.json()["results"][0]["source"] == "compiled");
  CHECK(contains(refused.err, "skipped"));
  const std::size_t asked = nginx->access_log().size();
  std::filesystem::remove_all(stranger.home());
  CHECK(build_on(stranger, {"--policy", stranger.path("policy.json"), "--offline"}).status == 0);
  CHECK(nginx->access_log().size() == asked);
  CHECK(reader.run({"compile", "rms_norm", "-p", "hidden_size=64", "--target", "sm_80", "--cache-key", "k"})
            .status == 2);
}

TEST_CASE("a target that names PTX gives PTX, which is kept as prebuild keeps it") {
  const Sandbox sandbox;
  std::filesystem::create_directory(sandbox.path("out"));
  const ToolResult built =
      compile(sandbox, {"--target", "compute_80,sm_90a", "-o", sandbox.path("out/"), "--json"});
  CAPTURE(built.out);
  REQUIRE(built.status == 0);
  const auto results = built.json()["results"];
  REQUIRE(results.size() == 2);
  CHECK(results[0]["target"] == "compute_80");
  CHECK(results[0]["file"].get<std::string>().ends_with(".ptx"));
  CHECK(results[1]["file"].get<std::string>().ends_with(".cubin"));
  const auto again = compile(sandbox, {"--target", "compute_80", "--json"}).json()["results"];
  CHECK(again[0]["source"] == "registry");
  const auto entries = sandbox.run({"registry", "list", "--json"}).json()["entries"];
  CHECK(entries.size() == 2);
}

TEST_CASE("compile says what NVRTC is given, where it is asked to") {
  const Sandbox sandbox;
  sandbox.write("far.h", "#pragma once\n");
  sandbox.write("two.cu", "#include <far.h>\ntemplate <int N> __global__ void two(int* p) { *p = N; }\n");
  const std::vector<std::string> line = {"compile",        "--source", sandbox.path("two.cu"),
                                         "--name",         "two<2>",   "-I",
                                         sandbox.path(""), "-D",       "M=1",
                                         "--target",       "sm_90a",   "--json"};
  CHECK_FALSE(sandbox.run(line).json().contains("given"));
  std::vector<std::string> told = line;
  told.push_back("-v");
  const ToolResult result = sandbox.run(told);
  CAPTURE(result.err);
  REQUIRE(result.status == 0);
  const auto given = result.json()["given"];
  REQUIRE(given.size() == 1);
  CHECK(given[0]["target"] == "sm_90a");
  CHECK(given[0]["compiler"] == result.json()["results"][0]["compiler"]);
  CHECK(given[0]["flags"][0] == "--gpu-architecture=sm_90a");
  CHECK(given[0]["names"] == nlohmann::json({"two<2>"}));
  CHECK(given[0]["source"]["name"] == "two.cu");
  CHECK(given[0]["source"]["bytes"] == sandbox.read("two.cu").size());
  bool found = false;
  for (const auto& header : given[0]["headers"])
    found = found ||
            (header["name"] == "far.h" && header["bytes"] == 13 && header["place"] == sandbox.path("far.h"));
  CHECK_MESSAGE(found, given.dump());
  CHECK(contains(result.err, "far.h, 13 bytes, from " + sandbox.path("far.h")));
  // A source that does not compile is reported nevertheless.
  sandbox.write("two.cu", "#include <far.h>\noops\n");
  const ToolResult failed = sandbox.run(told);
  CHECK(failed.status == 2);
  CHECK(failed.json()["given"][0]["headers"] == given[0]["headers"]);
}

TEST_CASE("without quotes an error holds nothing of the source") {
  const Sandbox sandbox;
  sandbox.write("broken.cu", kBrokenTemplate);
  const std::vector<std::string> line = {"compile",  "broken", "--template-file", sandbox.path("broken.cu"),
                                         "--target", "sm_90a", "--json"};
  CHECK(contains(sandbox.run(line).out, "undeclared"));
  std::vector<std::string> quiet = line;
  quiet.push_back("--no-quotes");
  const ToolResult result = sandbox.run(quiet);
  CHECK(result.status == 2);
  CHECK(result.json()["error"]["code"] == "compile_failed");
  CHECK_FALSE(contains(result.out + result.err, "undeclared"));
}

TEST_CASE("without an output file a cubin is kept in the home alone") {
  const Sandbox sandbox;
  const ToolResult result = compile(sandbox, {"--target", "sm_80"});
  CHECK(result.status == 0);
  CHECK(contains(result.out, "compiled"));
  CHECK(sandbox.run({"registry", "list", "--json"}).json()["entries"].size() == 1);
}

TEST_CASE("several targets go to a pattern or a folder") {
  const Sandbox sandbox;
  CHECK(compile(sandbox, {"--target", "sm_80,sm_90a", "-o", sandbox.path("norm.{target}.cubin")}).status ==
        0);
  CHECK(std::filesystem::exists(sandbox / "norm.sm_80.cubin"));
  CHECK(std::filesystem::exists(sandbox / "norm.sm_90a.cubin"));
  std::filesystem::create_directory(sandbox / "all");
  const auto document =
      compile(sandbox, {"--target", "sm_80,sm_90a", "-o", sandbox.path("all"), "--json"}).json();
  REQUIRE(document["results"].size() == 2);
  for (const auto& result : document["results"])
    CHECK(std::filesystem::exists(result["file"].get<std::string>()));
  CHECK(compile(sandbox, {"--target", "sm_80,sm_90a", "-o", sandbox.path("one.cubin")}).status == 2);
  CHECK_FALSE(std::filesystem::exists(sandbox / "one.cubin"));
}

TEST_CASE("a cubin with its record goes into a bundle") {
  const Sandbox sandbox;
  const std::string file = sandbox.path("norm.cubin");
  REQUIRE(compile(sandbox, {"--target", "sm_90a", "-o", file, "--record"}).status == 0);
  CHECK(sandbox.run({"bundle", "create", file, "-o", sandbox.path("b.bundle")}).status == 0);
  CHECK(run_tool({"bundle", "verify", sandbox.path("b.bundle")}).status == 0);
}

TEST_CASE("ptx and source go to stdout and are not kept") {
  const Sandbox sandbox;
  const ToolResult ptx = compile(sandbox, {"--target", "sm_90a", "--emit", "ptx"});
  CHECK(ptx.status == 0);
  CHECK(contains(ptx.out, ".target sm_90a"));
  const ToolResult source = compile(sandbox, {"--target", "sm_90a", "--emit", "source"});
  CHECK(source.status == 0);
  CHECK(contains(source.out, "__global__"));
  CHECK(contains(source.out, "256"));
  const auto document = compile(sandbox, {"--target", "sm_90a", "--emit", "source", "--json"}).json();
  CHECK(document["results"][0]["text"] == source.out);
  CHECK(compile(sandbox, {"--target", "sm_90a", "--emit", "ptx", "-o", sandbox.path("n.ptx")}).status == 0);
  CHECK(contains(sandbox.read("n.ptx"), ".target sm_90a"));
  CHECK_FALSE(std::filesystem::exists(sandbox.home()));
}

TEST_CASE("a cubin goes to stdout as it is") {
  const Sandbox sandbox;
  const ToolResult result = compile(sandbox, {"--target", "sm_90a", "-o", "-"});
  CHECK(result.status == 0);
  CHECK(cubinet::inspect_cubin(cubinet::as_bytes(result.out)));
  CHECK(compile(sandbox, {"--target", "sm_90a", "-o", "-", "--json"}).status == 2);
  CHECK(compile(sandbox, {"--target", "sm_90a,sm_80", "-o", "-"}).status == 2);
}

TEST_CASE("a cubin with line information is another kernel, kept as any other") {
  const Sandbox sandbox;
  const std::string plain = sandbox.path("plain.cubin");
  const std::string lines = sandbox.path("lines.cubin");
  REQUIRE(compile(sandbox, {"--target", "sm_90a", "--lineinfo", "-o", lines}).status == 0);
  REQUIRE(compile(sandbox, {"--target", "sm_90a", "-o", plain}).status == 0);
  CHECK(std::filesystem::file_size(lines) > std::filesystem::file_size(plain));
  CHECK(contains(sandbox.read("lines.cubin"), "debug_line"));
  const ToolResult again = compile(sandbox, {"--target", "sm_90a", "--flag=-lineinfo"});
  CHECK(again.status == 0);
  CHECK(contains(again.out, "registry"));
}

TEST_CASE("source that does not compile is wrong input, with the log of the compiler and the specification") {
  const Sandbox sandbox;
  sandbox.write("broken.cu", kBrokenTemplate);
  const std::vector<std::string> line = {
      "compile",      "broken", "--template-file",         sandbox.path("broken.cu"), "--target",
      "sm_90a,sm_80", "-o",     sandbox.path("x.{target}")};
  const ToolResult text = sandbox.run(line);
  CHECK(text.status == 2);
  CHECK(text.out.empty());
  CHECK(contains(text.err, "broken("));
  CHECK(contains(text.err, "undeclared"));
  auto json_line = line;
  json_line.emplace_back("--json");
  const ToolResult document = sandbox.run(json_line);
  CHECK(document.status == 2);
  CHECK(document.json()["error"]["code"] == "compile_failed");
  CHECK(contains(document.json()["error"]["detail"].get<std::string>(), "undeclared"));
  CHECK_FALSE(std::filesystem::exists(sandbox / "x.sm_90a"));
}

TEST_CASE("no compiler ends with 3 unless the home has the kernel") {
  const Sandbox sandbox;
  sandbox.write("none.so", "");
  const std::vector<std::string> none = {"--target", "sm_90a", "--nvrtc", sandbox.path("none.so"), "--json"};
  const ToolResult missing = compile(sandbox, none);
  CHECK(missing.status == 3);
  CHECK(missing.json()["error"]["code"] == "unavailable");
  REQUIRE(compile(sandbox, {"--target", "sm_90a"}).status == 0);
  const ToolResult found = compile(sandbox, none);
  CHECK(found.status == 0);
  CHECK(found.json()["results"][0]["source"] == "registry");
}

TEST_CASE("a library that is not NVRTC is told and ends with 3") {
  const Sandbox sandbox;
  sandbox.write("libnvrtc.so", "not a library");
  CHECK(compile(sandbox, {"--target", "sm_90a", "--nvrtc", sandbox.path("libnvrtc.so")}).status == 3);
}

TEST_CASE("output that cannot be written is told before anything is compiled") {
  const Sandbox sandbox;
  for (const char* name : {"missing/norm.cubin", "/dev/null", ""}) {
    const std::string file = *name == '/' || *name == '\0' ? name : sandbox.path(name);
    CAPTURE(file);
    CHECK(compile(sandbox, {"--target", "sm_90a", "-o", file}).status == 2);
  }
  CHECK_FALSE(std::filesystem::exists(sandbox.home()));
}

TEST_CASE("compile does not write over the template that it reads, nor into the home") {
  const Sandbox sandbox;
  sandbox.write("broken.cu", kBrokenTemplate);
  sandbox.write("x.record", kBrokenTemplate);
  const auto line = [&](const char* file, const char* output, bool record) {
    std::vector<std::string> words = {
        "compile", "broken", "--template-file",   sandbox.path(file), "--target",
        "sm_90a",  "-o",     sandbox.path(output)};
    if (record) words.emplace_back("--record");
    return sandbox.run(words);
  };
  for (const ToolResult& result : {line("broken.cu", "broken.cu", false), line("x.record", "x", true)}) {
    CHECK(result.status == 2);
    CHECK(contains(result.err, "which is read"));
  }
  CHECK(sandbox.read("broken.cu") == kBrokenTemplate);
  REQUIRE(compile(sandbox, {"--target", "sm_90a"}).status == 0);
  const ToolResult inside = compile(sandbox, {"--target", "sm_90a", "-o", sandbox.path("home/index.sqlite")});
  CHECK(inside.status == 2);
  CHECK(sandbox.run({"registry", "verify"}).status == 0);
}

TEST_CASE("every target in the pattern is replaced") {
  const Sandbox sandbox;
  std::filesystem::create_directory(sandbox / "sm_90a");
  CHECK(compile(sandbox, {"--target", "sm_90a", "-o", sandbox.path("{target}/norm.{target}.cubin")}).status ==
        0);
  CHECK(std::filesystem::exists(sandbox / "sm_90a/norm.sm_90a.cubin"));
}

TEST_CASE("a file in the place of a template is told how it is compiled") {
  const Sandbox sandbox;
  sandbox.write("axpy.cu", "extern \"C\" __global__ void axpy() {}\n");
  const ToolResult result = sandbox.run({"compile", sandbox.path("axpy.cu"), "--target", "sm_90a", "--json"});
  CHECK(result.status == 2);
  CHECK(contains(result.json()["error"]["remedy"].get<std::string>(), "--source"));
}

TEST_CASE("compile refuses options that do not go together") {
  const Sandbox sandbox;
  CHECK(compile(sandbox, {"--target", "sm_90a", "--emit", "fatbin"}).status == 2);
  CHECK(compile(sandbox, {"--target", "sm_90a", "--record"}).status == 2);
  CHECK(compile(sandbox, {}).status == 2);
}

TEST_CASE("a target that this compiler does not build for is told") {
  const Sandbox sandbox;
  const auto targets = sandbox.run({"doctor", "--json"}).json()["compiler"]["targets"];
  if (std::find(targets.begin(), targets.end(), "sm_107a") != targets.end())
    return skip("this NVRTC knows sm_107a");
  const ToolResult result = compile(sandbox, {"--target", "sm_107a", "--json"});
  CHECK(result.status == 3);
  CHECK(result.json()["error"]["code"] == "unsupported");
  CHECK(contains(result.json()["error"]["message"].get<std::string>(), "sm_107a"));
}

TEST_CASE("a source without a declaration is compiled as it is, with what is said to the compiler") {
  const Sandbox sandbox;
  sandbox.write(
      "axpy.cu",
      "#include \"helper.h\"\n"
      "template <class T, int N> __global__ void axpy(T* y) { y[threadIdx.x] = helper<T>() + N + SHIFT; }\n");
  sandbox.write("helper.h", "template <class T> __device__ T helper() { return 1; }\n");
  const std::vector<std::string> line = {"compile",
                                         "--source",
                                         sandbox.path("axpy.cu"),
                                         "--name",
                                         "axpy<float, 4>",
                                         "--name",
                                         "axpy<float,2+2>",
                                         "-D",
                                         "SHIFT=1",
                                         "--flag=--std=c++20",
                                         "--target",
                                         "sm_90a"};
  const ToolResult first = sandbox.run(line);
  CAPTURE(first.err);
  REQUIRE(first.status == 0);
  CHECK(contains(first.out, "_Z4axpyIfLi4EEvPT_  axpy<float, 4>"));
  CHECK(contains(first.out, "_Z4axpyIfLi4EEvPT_  axpy<float,2+2>"));
  CHECK(contains(sandbox.run(line).out, "registry"));
  // The names count as they are written, although the symbol is one.
  const auto key_of = [&](const char* name) {
    return sandbox
        .run({"compile", "--source", sandbox.path("axpy.cu"), "--name", name, "-D", "SHIFT=1", "--target",
              "sm_90a", "--json"})
        .json()["results"][0]["key"];
  };
  CHECK(key_of("axpy<float, 4>") != key_of("axpy<float, 2+2>"));
  sandbox.write("helper.h", "template <class T> __device__ T helper() { return 2; }\n");
  CHECK(contains(sandbox.run(line).out, "compiled"));
  std::vector<std::string> other = line;
  other[8] = "SHIFT=2";
  CHECK(contains(sandbox.run(other).out, "compiled"));
  other.insert(other.end(), {"--emit", "ptx"});
  CHECK(contains(sandbox.run(other).out, ".target sm_90a"));
}

TEST_CASE("the element types of templates are converted as their page says") {
  const Sandbox sandbox;
  sandbox.write(
      "twice.cu",
      "/* cubinet-template {\"name\": \"twice\", \"interface\": 1, \"parameters\": [{\"name\": "
      "\"dtype\", \"type\": \"dtype\", \"values\": [\"bf16\", \"fp16\"]}], \"kernels\": [{\"name\": "
      "\"twice\", \"threads\": 32}]} */\n"
      "#include <cubinet/parameters.cuh>\n"
      "extern \"C\" __global__ void twice(cubinet::parameters::dtype* y) {\n"
      "  using type = cubinet::parameters::dtype;\n"
      "  const float x = cubinet::unpack2<type>(y[threadIdx.x].bits).x;\n"
      "  y[threadIdx.x] = type{static_cast<unsigned short>(cubinet::pack2<type>(2 * x, 0.0f))};\n"
      "}\n");
  for (const char* type : {"dtype=bf16", "dtype=fp16"}) {
    const ToolResult compiled = sandbox.run(
        {"compile", "twice", "--template-file", sandbox.path("twice.cu"), "-p", type, "--target", "sm_80"});
    CHECK_MESSAGE(compiled.status == 0, compiled.err);
  }
}

TEST_CASE("several sources and a library are linked into one cubin, which is found again") {
  const Sandbox sandbox;
  const auto doctor = sandbox.run({"doctor", "--json"}).json();
  if (doctor["compiler"]["linker"].is_null()) return skip("there is no nvJitLink");
  std::filesystem::create_directory(sandbox / "lib");
  sandbox.write(
      "lib/mine.ptx",
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".visible .func (.param .b32 r) mine(.param .b32 x) {\n  .reg .b32 %r<2>;\n  ld.param.b32 %r1, [x];\n"
      "  st.param.b32 [r], %r1;\n  ret;\n}\n");
  sandbox.write("a.cu",
                "extern __device__ int more(int); extern \"C\" __device__ int mine(int);\n"
                "template <int N> __global__ void k(int* x) { *x = more(mine(N)); }\n");
  sandbox.write("b.cu",
                "__device__ int more(int x) { return x + 1; }\n__global__ void other(int* x) { *x = 1; }\n");
  const std::vector<std::string> line = {"compile",
                                         "--source",
                                         sandbox.path("b.cu"),
                                         "--source",
                                         sandbox.path("a.cu"),
                                         "--library",
                                         "mine.ptx",
                                         "-L",
                                         sandbox.path("lib"),
                                         "--name",
                                         "k<4>",
                                         "--name",
                                         "other",
                                         "--target",
                                         "sm_90a"};
  const ToolResult first = sandbox.run(line);
  CAPTURE(first.err);
  REQUIRE(first.status == 0);
  CHECK(contains(first.out, "compiled"));
  CHECK(contains(first.out, "_Z1kILi4EEvPi  k<4>"));
  CHECK(contains(first.out, "_Z5otherPi  other"));
  CHECK(contains(sandbox.run(line).out, "registry"));
  sandbox.write("lib/mine.ptx", sandbox.read("lib/mine.ptx") + "// edited\n");
  CHECK(contains(sandbox.run(line).out, "compiled"));
  std::vector<std::string> lost = line;
  lost[8] = sandbox.path("nowhere");
  const ToolResult missing = sandbox.run(lost);
  CHECK(missing.status == 3);
  CHECK(contains(missing.err, "mine.ptx"));
  CHECK(sandbox.run({"compile", "rms_norm", "--library", "m", "-p", "hidden_size=64", "--target", "sm_90a"})
            .status == 2);
}

TEST_CASE(
    "further sources and libraries that a declaration names are linked, wherever the template is used") {
  const Sandbox sandbox;
  const auto doctor = sandbox.run({"doctor", "--json"}).json();
  if (doctor["compiler"]["linker"].is_null()) return skip("there is no nvJitLink");
  sandbox.write("main.cu",
                "extern __device__ int more(int); extern \"C\" __device__ int mine(int);\n"
                "extern \"C\" __global__ void k(int* x) { *x = more(mine(N)); }\n");
  sandbox.write("more.cu", "__device__ int more(int x) { return x + N; }\n");
  sandbox.write(
      "mine.ptx",
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".visible .func (.param .b32 r) mine(.param .b32 x) {\n  .reg .b32 %r<2>;\n  ld.param.b32 %r1, [x];\n"
      "  st.param.b32 [r], %r1;\n  ret;\n}\n");
  sandbox.write("main.cubinet.json", R"({"name": "linked", "interface": 1, "sources": ["more.cu"],
    "libraries": ["mine.ptx"], "parameters": [{"name": "n", "type": "int", "macro": "N", "default": 4}],
    "kernels": [{"name": "k", "threads": 32}]})");
  sandbox.write("matrix.json",
                R"({"kernels": [{"template": "linked", "parameters": {}, "targets": ["sm_90a"]}]})");
  const std::string file = sandbox.path("main.cu");
  const std::vector<std::string> compile = {"compile", "linked",   "--template-file",
                                            file,      "--target", "sm_90a"};
  const auto explained = [&] {
    return sandbox.run({"explain", "linked", "--template-file", file, "--device", "sm_90"}).out;
  };
  const ToolResult first = sandbox.run(compile);
  REQUIRE_MESSAGE(first.status == 0, first.err);
  CHECK(contains(first.out, "compiled"));
  CHECK(contains(sandbox.run(compile).out, "registry"));
  CHECK_MESSAGE(contains(explained(), "sm_90a is used"), explained());
  const ToolResult built = sandbox.run({"prebuild", sandbox.path("matrix.json"), "--template-file", file,
                                        "-o", sandbox.path("k.bundle"), "--json"});
  REQUIRE_MESSAGE(built.status == 0, built.err);
  CHECK(sandbox.run({"bundle", "verify", sandbox.path("k.bundle")}).status == 0);
  // The fingerprint of the current build covers each text that is linked.
  for (const char* part : {"more.cu", "mine.ptx"}) {
    sandbox.write(part, sandbox.read(part) + "// edited\n");
    CHECK_MESSAGE(contains(explained(), "would be compiled"), part, explained());
    CHECK(contains(sandbox.run(compile).out, "compiled"));
  }
  const ToolResult shown = sandbox.run({"templates", "linked", "--template-file", file});
  CHECK(contains(shown.out, "Linked with more.cu, mine.ptx"));
  std::vector<std::string> over = compile;
  over.insert(over.end(), {"-o", sandbox.path("more.cu")});
  CHECK(sandbox.run(over).status == 2);
  std::filesystem::remove(sandbox.path("more.cu"));
  const ToolResult lost = sandbox.run(compile);
  CHECK(lost.status != 0);
  CHECK_MESSAGE(contains(lost.err, "the source 'more.cu'"), lost.err);
}

TEST_CASE("what goes neither with a source nor with a template is wrong usage") {
  const Sandbox sandbox;
  sandbox.write("a.cu", "extern \"C\" __global__ void a() {}\n");
  const std::string file = sandbox.path("a.cu");
  CHECK(sandbox.run({"compile", "--target", "sm_90a"}).status == 2);
  CHECK(sandbox.run({"compile", "rms_norm", "--source", file, "--target", "sm_90a"}).status == 2);
  CHECK(sandbox.run({"compile", "--source", file, "-p", "a=1", "--target", "sm_90a"}).status == 2);
  CHECK(sandbox.run({"compile", "--source", file, "--flag=-include", "--target", "sm_90a"}).status == 2);
  CHECK(sandbox.run({"compile", "--source", file, "--flag=--nonsense", "--target", "sm_90a"}).status == 2);
  CHECK(sandbox.run({"compile", "--source", sandbox.path("none.cu"), "--target", "sm_90a"}).status == 2);
  CHECK(compile(sandbox, {"--name", "rms_norm", "--target", "sm_90a"}).status == 2);
}
