// SPDX-License-Identifier: Apache-2.0
#include "support/compiler_search.hpp"
#include "support/fake_cubin.hpp"
#include "tool.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/cubin_registry/imports.hpp>
#include <cubinet/cubin_registry/journal.hpp>
#include <cubinet/kernel_table/row_codec.hpp>
#include <cubinet/session/journal_writer.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

using namespace cubinet;
using namespace cubinet::test;

namespace {

const std::vector<std::string> kNormArguments = {"rms_norm", "-p", "hidden_size=64"};

std::vector<std::string> line(std::string verb, const std::vector<std::string>& rest) {
  std::vector<std::string> arguments = {std::move(verb)};
  arguments.insert(arguments.end(), kNormArguments.begin(), kNormArguments.end());
  arguments.insert(arguments.end(), rest.begin(), rest.end());
  return arguments;
}

constexpr SmTarget kFamily{10, 0, TargetKind::family};
constexpr SmTarget kSpecific{10, 3, TargetKind::specific};

KernelRow attention_row(SmTarget target, std::uint16_t tile_size_q) {
  KernelRow row;
  row.selector.tokens_per_page = 64;
  row.selector.tile_size_q = tile_size_q;
  row.traits.step_q = tile_size_q;
  row.implementation = "trtllm-gen";
  row.target = target;
  row.function_name = "fmha_" + target.to_string() + "_q" + std::to_string(tile_size_q);
  row.threads = 512;
  row.digest = sha256(as_bytes(row.function_name));
  return row;
}

std::string key_of_row(const KernelRow& row) {
  return identify(row).key().to_string();
}

// Makes the sandbox's home know a folder of published kernels; explaining opens none of its files.
void publish(const Sandbox& sandbox, ArtifactImport import) {
  import.folder = sandbox / "published";
  std::filesystem::create_directories(import.folder);
  for (const KernelRow& row : import.rows)
    import.files.push_back({row.function_name + ".cubin", row.digest, 1});
  for (const PlainKernel& kernel : import.plain)
    import.files.push_back({kernel.function_name + ".cubin", kernel.digest, 1});
  std::sort(import.files.begin(), import.files.end(),
            [](const ArtifactFile& a, const ArtifactFile& b) { return a.name < b.name; });
  HomeOptions options;
  options.path = sandbox.home();
  auto registry = Home::open(options);
  REQUIRE(registry);
  const auto published = (*registry)->imports().publish(import);
  REQUIRE_MESSAGE(published, (published ? "" : published.error().to_line()));
}

void import_into(const Sandbox& sandbox) {
  ArtifactImport import;
  import.rows = {attention_row(kFamily, 8), attention_row(kSpecific, 8), attention_row(kFamily, 16)};
  import.plain = {{ "gemm", 1024, 256, kFamily, sha256(as_bytes("gemm")) }};
  publish(sandbox, std::move(import));
}

}  // namespace

TEST_CASE("explain says what would be compiled, then which build is used, and changes nothing") {
  const Sandbox sandbox;
  const auto before = sandbox.run(line("explain", {"--device", "9.0", "--json"}));
  REQUIRE(before.status == 0);
  CHECK(before.json()["chosen"].is_null());
  CHECK(before.json()["would_compile"] == "sm_90a");
  const std::string fix = before.json()["fix"];
  CHECK(contains(fix, "cubinet compile rms_norm"));
  CHECK(contains(fix, "--target sm_90a"));

  REQUIRE(sandbox.run(line("compile", {"--target", "sm_90,sm_90a,sm_100f"})).status == 0);
  const auto after = sandbox.run(line("explain", {"--device", "sm_90", "--json"}));
  REQUIRE(after.status == 0);
  CHECK(after.json()["chosen"]["target"] == "sm_90a");
  CHECK(after.json()["targets"][0] == "sm_90a");
  CHECK(after.json()["builds"][0]["usable"] == true);
  const auto forbidden = sandbox.run(line("explain", {"--device", "9.0", "--forbid", "sm_90a", "--json"}));
  CHECK(forbidden.json()["chosen"]["target"] == "sm_90");
  CHECK(forbidden.json()["policy"]["forbidden"][0] == "sm_90a");
  const auto text = sandbox.run(line("explain", {"--device", "9.0"}));
  CHECK(contains(text.out, "* sm_90a"));
}

TEST_CASE("a record that was cut short is named with the reason and the command that repairs it") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run(line("compile", {"--target", "sm_90a"})).status == 0);
  std::filesystem::path record;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(sandbox.home() / "records"))
    if (entry.is_regular_file()) record = entry.path();
  std::filesystem::resize_file(record, 40);
  const std::string reason = "'" + record.string() + "' is damaged: a cubin's record ";
  const auto text = sandbox.run(line("explain", {"--device", "9.0"}));
  CHECK(contains(text.out, "\n  unreadable    " + reason));
  CHECK(contains(text.out, "(call `cubinet registry repair`, which sets it aside)\n"));
  const auto json = sandbox.run(line("explain", {"--device", "9.0", "--json"})).json();
  REQUIRE(json["unreadable"].size() == 1);
  CHECK(contains(json["unreadable"][0]["message"], reason));
  REQUIRE(sandbox.run({"registry", "repair"}).status == 0);
  CHECK(sandbox.run(line("explain", {"--device", "9.0", "--json"})).json()["unreadable"].empty());
}

TEST_CASE("a key is explained for any device, and the nearest builds say what differs") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run(line("compile", {"--target", "sm_90"})).status == 0);
  const auto listed = sandbox.run({"registry", "list", "--json"});
  const std::string key = listed.json()["entries"][0]["key"];
  CHECK(sandbox.run({"explain", key, "--device", "9.0", "--json"}).json()["chosen"]["key"] == key);
  const auto elsewhere = sandbox.run({"explain", key, "--device", "12.0", "--json"});
  REQUIRE(elsewhere.status == 0);
  CHECK(elsewhere.json()["chosen"].is_null());
  CHECK(contains(elsewhere.json()["builds"][0]["verdict"], "sm_90 code runs on"));
  const auto other =
      sandbox.run({"explain", "rms_norm", "-p", "hidden_size=128", "--device", "9.0", "--json"});
  CHECK(other.json()["nearest"][0]["differences"][0] == "hidden_size 64 instead of 128");
}

TEST_CASE("list, show, explain and bundles name kernels of a source as the source does") {
  const Sandbox sandbox;
  sandbox.write("axpy.cu",
                "template <class T, int N> __global__ void axpy(T* y) { y[threadIdx.x] += N; }\n"
                "namespace my { __global__ void scale(float* y) { *y *= 2; } }\n");
  REQUIRE(sandbox
              .run({"compile", "--source", sandbox.path("axpy.cu"), "--name", "axpy<float, 4>", "--name",
                    "axpy<double, 2>", "--target", "sm_90a"})
              .status == 0);
  REQUIRE(sandbox.run({"compile", "--source", sandbox.path("axpy.cu"), "--target", "sm_90a"}).status == 0);
  const std::string named = "axpy<float, 4>, axpy<double, 2>";
  const ToolResult listed = sandbox.run({"registry", "list"});
  CHECK(contains(listed.out, named));
  CHECK(contains(listed.out, "my::scale of axpy"));
  const auto entries = sandbox.run({"registry", "list", "--json"}).json()["entries"];
  REQUIRE(entries.size() == 2);
  for (const auto& entry : entries)
    CHECK((entry["names"] == nlohmann::json{"axpy<float, 4>", "axpy<double, 2>"} ||
           entry["names"] == nlohmann::json{"my::scale"}));
  const ToolResult shown = sandbox.run({"registry", "show", "axpy<float, 4>"});
  CHECK(contains(shown.out, named));
  CHECK(contains(shown.out, "axpy<double, 2> (_Z4axpyIdLi2EEvPT_)"));
  CHECK(contains(sandbox.run({"registry", "show", "my::scale"}).out, "my::scale (_ZN2my5scaleEPf)"));
  const ToolResult explained = sandbox.run({"explain", "axpy<float, 4>", "--device", "sm_90"});
  CAPTURE(explained.err);
  CHECK(explained.status == 0);
  CHECK(contains(explained.out, named + " of axpy on "));
  CHECK(sandbox.run({"explain", "axpy<float, 4>", "--device", "sm_90", "--json"}).json()["names"].size() ==
        2);
  REQUIRE(sandbox.run({"bundle", "create", "-o", sandbox.path("b.bundle")}).status == 0);
  CHECK(contains(run_tool({"bundle", "list", sandbox.path("b.bundle")}).out, named));
}

TEST_CASE("explain and key take every name that list prints, and the remedy of a name of several") {
  const Sandbox sandbox;
  sandbox.write("two.cu", "namespace my { __global__ void scale(float* y) { *y *= 2; } }\n");
  sandbox.write("rows.cu",
                "/* cubinet-template {\"name\": \"by_rows\", \"interface\": 1, \"parameters\": [{\"name\": "
                "\"rows\", \"type\": \"int\"}], \"kernels\": [{\"name\": \"go\", \"threads\": 32}]} */\n"
                "#include <cubinet/parameters.cuh>\n"
                "extern \"C\" __global__ void go(float* y) { *y = cubinet::parameters::rows; }\n");
  REQUIRE(sandbox.run({"compile", "--source", sandbox.path("two.cu"), "--target", "sm_90a"}).status == 0);
  REQUIRE(sandbox
              .run({"compile", "by_rows", "--template-file", sandbox.path("rows.cu"), "-p", "rows=1",
                    "--target", "sm_90a"})
              .status == 0);
  for (const char* name : {"my::scale", "_ZN2my5scaleEPf", "two", "by_rows", "go"}) {
    CAPTURE(name);
    CHECK(sandbox.run({"registry", "show", name}).status == 0);
    CHECK(sandbox.run({"key", name}).status == 0);
    const ToolResult explained = sandbox.run({"explain", name, "--device", "sm_90", "--json"});
    REQUIRE(explained.status == 0);
    CHECK(explained.json()["chosen"]["target"] == "sm_90a");
  }
  const ToolResult elsewhere = sandbox.run({"explain", "by_rows", "--device", "sm_80"});
  CHECK(elsewhere.status == 1);
  CHECK(contains(elsewhere.out, "or name its template with --template-file"));
  REQUIRE(
      sandbox.run({"compile", "--source", sandbox.path("two.cu"), "-D", "X", "--target", "sm_90a"}).status ==
      0);
  const auto refused = sandbox.run({"explain", "my::scale", "--device", "sm_90", "--json"}).json()["error"];
  const std::string remedy = refused["remedy"];
  const std::string key = remedy.substr(remedy.rfind(' ') + 1);
  CHECK(contains(refused["message"], key + " my::scale of two"));
  CHECK(sandbox.run({"explain", key, "--device", "sm_90"}).status == 0);
  CHECK(sandbox.run({"registry", "show", "my::scale", "--json"}).json()["error"]["remedy"] == remedy);
}

TEST_CASE("a prelude is a part of a kernel, of the key, in a bundle and where it is explained") {
  const Sandbox sandbox;
  std::filesystem::create_directories(sandbox / "before");
  sandbox.write("before/p.h", "#include \"beside.h\"\n#define STEP BESIDE\n");
  sandbox.write("before/beside.h", "#define BESIDE 3\n");
  sandbox.write("k.cu", "extern \"C\" __global__ void k(int* p) { *p += STEP; }\n");
  std::vector<std::string> compile = {"compile", "--source",  sandbox.path("k.cu"),       "--target",
                                      "sm_90a",  "--prelude", sandbox.path("before/p.h"), "--json"};
  const auto key = [&] {
    const ToolResult compiled = sandbox.run(compile);
    REQUIRE_MESSAGE(compiled.status == 0, compiled.err);
    return compiled.json()["results"][0]["key"].get<std::string>();
  };
  const std::string first = key();
  CHECK(key() == first);
  const auto explained = sandbox.run({"explain", first, "--device", "9.0", "--json"});
  REQUIRE(explained.status == 0);
  const std::string text = explained.out;
  CHECK_MESSAGE(contains(text, "prelude 0 p.h"), text);
  REQUIRE(sandbox.run({"bundle", "create", "-o", sandbox.path("b.bundle")}).status == 0);
  CHECK(contains(sandbox.run({"bundle", "list", sandbox.path("b.bundle"), "--json"}).out, "prelude 0 p.h"));
  // A header that it includes is another build, another prelude another kernel.
  sandbox.write("before/beside.h", "#define BESIDE 4\n");
  CHECK(sandbox.run(compile).json()["results"][0]["source"] == "compiled");
  CHECK(key() == first);
  sandbox.write("before/p.h", "#define STEP 5\n");
  CHECK(key() != first);
  compile.insert(compile.end(), {"-o", sandbox.path("before/p.h")});
  CHECK(sandbox.run(compile).status == 2);
  const ToolResult of_template = sandbox.run({"compile", "rms_norm", "-p", "hidden_size=64", "--target",
                                              "sm_90a", "--prelude", sandbox.path("before/p.h")});
  CHECK(of_template.status == 2);
  CHECK(contains(of_template.err, "--prelude goes before --source"));
}

TEST_CASE("the key of an imported row is explained with the builds of its kernel for other targets") {
  const Sandbox sandbox;
  import_into(sandbox);
  const std::string key = key_of_row(attention_row(kFamily, 8));
  const auto newer = sandbox.run({"explain", key, "--device", "10.3", "--json"});
  CAPTURE(newer.err);
  REQUIRE(newer.status == 0);
  CHECK(newer.json()["chosen"]["function"] == "fmha_sm_103a_q8");
  CHECK(newer.json()["chosen"]["place"].get<std::string>().find("published") != std::string::npos);
  CHECK(newer.json()["builds"].size() == 2);
  const auto older = sandbox.run({"explain", key, "--device", "10.0", "--json"});
  CHECK(older.json()["chosen"]["function"] == "fmha_sm_100f_q8");
  CHECK(contains(older.out, "sm_103a code is specific to 10.3"));
  const auto family = sandbox.run({"explain", key, "--device", "10.3", "--prefer", "family", "--json"});
  CHECK(family.json()["chosen"]["target"] == "sm_100f");
  const auto none = sandbox.run({"explain", key, "--device", "9.0", "--json"});
  CHECK(none.status == 1);
  CHECK(none.json()["chosen"].is_null());
  CHECK(contains(none.json()["builds"].dump(), "runs on devices of compute capability 10.x only"));
  const auto pinned = sandbox.run({"explain", key_of_row(attention_row(kSpecific, 8)), "--device", "10.0",
                                   "--forbid", "sm_103a", "--json"});
  CHECK(pinned.json()["chosen"]["target"] == "sm_100f");
}

TEST_CASE("where no build of a row runs the nearest rows that do are named with what differs") {
  const Sandbox sandbox;
  ArtifactImport import;
  import.rows = {attention_row(kSpecific, 8), attention_row(kFamily, 16), attention_row(kFamily, 64)};
  import.rows[2].selector.tokens_per_page = 32;
  publish(sandbox, std::move(import));
  const std::string key = key_of_row(attention_row(kSpecific, 8));
  const auto result = sandbox.run({"explain", key, "--device", "10.0", "--json"});
  CHECK(result.status == 1);
  REQUIRE(result.json()["nearest"].size() == 2);
  const auto nearest = result.json()["nearest"];
  CHECK(nearest[0]["function"] == "fmha_sm_100f_q16");
  CHECK(contains(nearest[0]["differences"].dump(), "tile_size_q 16 instead of "));
  CHECK(nearest[1]["differences"].size() == nearest[0]["differences"].size() + 1);
}

TEST_CASE("an imported function is explained, and its keys printed, by its name") {
  const Sandbox sandbox;
  import_into(sandbox);
  for (const std::string name : {"gemm", "fmha_sm_100f_q16"}) {
    const auto here = sandbox.run({"explain", name, "--device", "10.0", "--json"});
    REQUIRE(here.status == 0);
    CHECK(here.json()["chosen"]["function"] == name);
    const auto keys = sandbox.run({"key", name, "--json"});
    REQUIRE(keys.status == 0);
    CHECK(keys.json()["keys"][0]["key"] == here.json()["chosen"]["key"]);
    CHECK(keys.json()["keys"][0]["fingerprint"].is_null());
  }
  CHECK(sandbox.run({"explain", "gemm", "--device", "12.0"}).status == 1);
  CHECK(sandbox.run({"explain", "gemm", "--device", "10.0", "--forbid", "sm_100f"}).status == 1);
  CHECK(sandbox.run({"key", "no_such_function"}).status == 2);
}

TEST_CASE("a bundle that is named serves its kernels to explain, without the template") {
  const Sandbox sandbox;
  Cubin cubin = make_cubin(KernelSpec{"elsewhere", {}}.set("width", 8));
  const std::string key = cubin.record->identity.key().to_string();
  REQUIRE(create_bundle(sandbox.path("x.bundle"), {cubin}, {"x", 3}));
  for (const std::string& name : {key, std::string("kernel")}) {
    CHECK(sandbox.run({"explain", name, "--device", "9.0"}).status == 1);
    const auto found =
        sandbox.run({"explain", name, "--device", "9.0", "--bundle", sandbox.path("x.bundle"), "--json"});
    REQUIRE(found.status == 0);
    CHECK(found.json()["chosen"]["key"] == key);
    CHECK(found.json()["chosen"]["source"] == "bundle");
  }
  const ToolResult text =
      sandbox.run({"explain", key, "--device", "9.0", "--bundle", sandbox.path("x.bundle")});
  CHECK(contains(text.out, " in " + sandbox.path("x.bundle") + ": "));
}

TEST_CASE("where nothing can be had explain ends with status 1 and the remedy") {
  const Sandbox sandbox;
  const auto pinned = sandbox.run(line("explain", {"--device", "9.0", "--pin", "sm_100a", "--json"}));
  CHECK(pinned.status == 1);
  CHECK_FALSE(pinned.json()["error"]["message"].get<std::string>().empty());
  CHECK(sandbox.run(line("explain", {"--device", "sm_999", "--json"})).json().contains("error"));
  CHECK(contains(pinned.json()["reason"], "pins sm_100a"));
  CHECK_FALSE(pinned.json()["fix"].get<std::string>().empty());
  const auto unknown = sandbox.run({"explain", "0123456789abcdef", "--device", "9.0", "--json"});
  CHECK(unknown.status == 1);
  CHECK(unknown.json()["error"]["code"] == "not_found");
}

TEST_CASE("explain refuses wrong parameters, devices and policies as usage") {
  const Sandbox sandbox;
  CHECK(sandbox.run({"explain", "rms_norm", "-p", "hidden=64", "--device", "9.0"}).status == 2);
  CHECK(sandbox.run({"explain", "rms_norm", "--device", "9.0"}).status == 2);
  CHECK(sandbox.run(line("explain", {"--device", "hopper"})).status == 2);
  CHECK(sandbox.run(line("explain", {})).status == 2);
  CHECK(sandbox.run(line("explain", {"--device", "9.0", "--pin", "sm_90", "--forbid", "sm_90"})).status == 2);
  CHECK(sandbox.run({"explain", "nonsense", "-p", "a=1", "--device", "9.0"}).status == 2);
}

TEST_CASE("a template with headers of its own is the same kernel to every verb") {
  const Sandbox sandbox;
  std::filesystem::create_directory(sandbox / "my headers");
  sandbox.write("my headers/factor.h", "#define FACTOR 2.0f\n");
  sandbox.write("it's.cu", R"(/* cubinet-template
{ "name": "scaled", "interface": 1, "summary": "with a header", "minimum_target": "sm_80",
  "parameters": [], "constraints": [],
  "kernels": [ {"name": "scaled", "threads": "32", "dynamic_shared_bytes": "0", "parameter_bytes": 8} ] }
*/
#include "factor.h"
extern "C" __global__ void scaled(float* p) { p[threadIdx.x] *= FACTOR; }
)");
  const std::vector<std::string> sources = {"--template-file", sandbox.path("it's.cu"), "-I",
                                            sandbox.path("my headers")};
  const auto with_sources = [&](std::vector<std::string> words) {
    words.insert(words.end(), sources.begin(), sources.end());
    words.emplace_back("--json");
    return sandbox.run(words);
  };
  const auto before = with_sources({"explain", "scaled", "--device", "9.0"});
  CAPTURE(before.err);
  REQUIRE(before.status == 0);
  const std::string fix = before.json()["fix"];
  CAPTURE(fix);
  REQUIRE(fix.substr(0, 8) == "cubinet ");
  // As a shell reads it.
  const std::string command = std::string("CUDA_HOME='") + cuda_root() + "' '" + tool_path() + "' " +
                              fix.substr(8) + " >/dev/null 2>&1";
  REQUIRE(std::system(command.c_str()) == 0);
  const auto after = with_sources({"explain", "scaled", "--device", "9.0"}).json();
  REQUIRE(after["chosen"].is_object());
  CHECK(after["chosen"]["usable"] == true);
  const std::string fingerprint = after["chosen"]["fingerprint"];
  CHECK(with_sources({"key", "scaled", "--target", "sm_90a"}).json()["keys"][0]["fingerprint"] ==
        fingerprint);
  CHECK(with_sources({"compile", "scaled", "--target", "sm_90a"}).json()["results"][0]["source"] ==
        "registry");
  sandbox.write("m.json", R"({"kernels": [{"template": "scaled", "targets": ["sm_90a", "sm_80"]}]})");
  const auto built = with_sources({"prebuild", sandbox.path("m.json"), "-o", sandbox.path("b.bundle")});
  CAPTURE(built.err);
  REQUIRE(built.status == 0);
  CHECK(built.json()["reused"] == 1);
  CHECK(built.json()["compiled"] == 1);
}

TEST_CASE("what was compiled for requests is listed with what the stores had and a command that makes it") {
  const Sandbox sandbox;
  const ToolResult absent = sandbox.run({"explain", "--since", "1h"});
  CHECK(absent.status != 0);
  CHECK(contains(absent.err, "does not exist"));
  REQUIRE(Home::open({.path = sandbox.home().string()}));
  CHECK(contains(sandbox.run({"explain", "--since", "1h"}).out, "nothing was compiled for a request"));
  {
    const auto home = Home::open({.path = sandbox.home().string()});
    REQUIRE(home);
    JournalEntry entry;
    entry.process = "python3";
    entry.pid = 7;
    entry.host = "pod-1";
    entry.kernel = "rms_norm(hidden_size=64)";
    entry.spec = KernelSpec{"rms_norm", {}}.set("hidden_size", 64);
    entry.key = "0123456789abcdef";
    entry.target = "sm_90a";
    entry.capability = "9.0";
    entry.compile_seconds = 1.5;
    entry.stores = {{.kind = "memory"}, {"bundle", "/b.bundle", {"sm_80: does not run on 9.0"}}};
    entry.nearest = {"fedcba9876543210 for sm_90a: hidden_size 128 instead of 64"};
    REQUIRE((*home)->journal().add(journal_text(entry)));
    entry.spec = KernelSpec{"mine", {}}.set("size", 1);
    entry.kernel = "mine(size=1)";
    REQUIRE((*home)->journal().add(journal_text(entry)));
    entry.sources = {{"/srv/my kernels"}, {"/srv/include"}, {}};
    REQUIRE((*home)->journal().add(journal_text(entry)));
    entry.spec.reset();
    entry.kernel = "\x1b[31m";
    REQUIRE((*home)->journal().add(journal_text(entry)));
    REQUIRE((*home)->journal().add("no JSON"));
  }
  const ToolResult listed = sandbox.run({"explain", "--since", "1h"});
  CHECK(listed.status == 1);
  CHECK(contains(listed.out, "python3 7 on pod-1: rms_norm(hidden_size=64) for sm_90a (device 0, 9.0)"));
  CHECK(contains(listed.out, "  memory: no build\n  bundle /b.bundle: sm_80: does not run on 9.0\n"));
  CHECK(contains(listed.out, "to have it: cubinet compile rms_norm -p hidden_size=64 --target sm_90a"));
  CHECK(contains(listed.out, "to have it: prebuild it for sm_90a (`cubinet prebuild`)"));
  // Without its file the command for a template of one's own would fail.
  CHECK(contains(listed.out,
                 "to have it: cubinet compile mine -p size=1 --target sm_90a --template-file "
                 "'/srv/my kernels' -I /srv/include"));
  CHECK_FALSE(contains(listed.out, "compile mine -p size=1 --target sm_90a\n"));
  CHECK_FALSE(contains(listed.out, "\x1b"));
  CHECK(contains(listed.err, "1 line of the journal cannot be read, 0 lines of a newer cubinet"));
  const auto json = sandbox.run({"explain", "rms_norm", "--since", "1h", "--json"}).json();
  REQUIRE(json["entries"].size() == 1);
  CHECK(json["entries"][0]["parameters"]["hidden_size"] == 64);
  CHECK(json["damaged"] == 1);
  CHECK(sandbox.run({"explain", "--since", "soon"}).status == 2);
  CHECK(sandbox.run({"explain", "--since", ""}).status == 2);
  for (const std::vector<std::string>& other : {std::vector<std::string>{"--device", "9.0"},
                                                {"-p", "a=1"},
                                                {"--cache", "file:///c"},
                                                {"--bundle", "b"}}) {
    std::vector<std::string> words = {"explain", "--since", "1h"};
    words.insert(words.end(), other.begin(), other.end());
    CHECK(sandbox.run(words).status == 2);
  }
}

TEST_CASE("without a time a kernel and a device are needed") {
  const Sandbox sandbox;
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"explain"}, {"explain", "rms_norm"}, {"explain", "--device", "9.0"}}) {
    const ToolResult result = sandbox.run(words);
    CHECK(result.status == 2);
    CHECK(contains(result.err, "a kernel and --device are needed"));
  }
}
