// SPDX-License-Identifier: Apache-2.0
#include "import_fixture.hpp"

using namespace cubinet;
using namespace cubinet::test;

TEST_CASE("registry list with imports names folder, pin, version, rows and functions") {
  const Sandbox sandbox;
  import_two_kernels(sandbox, "first", 'a', "publisher 1.0");
  import_two_kernels(sandbox, "second", 'b', "publisher 2.0");
  const auto imports = sandbox.run({"registry", "list", "--imports", "--json"}).json()["imports"];
  REQUIRE(imports.size() == 2);
  CHECK(imports[0]["folder"] == sandbox.path("first"));
  CHECK(imports[1]["pin"] == std::string(64, 'b'));
  CHECK(imports[1]["version"] == "publisher 2.0");
  CHECK(imports[1]["rows"] == 1);
  CHECK(imports[1]["gone"] == false);
  CHECK(imports[1]["functions"] == nlohmann::json({"fmha_decode", "gemm_e4m3"}));
  CHECK_FALSE(contains(sandbox.run({"registry", "list", "--imports"}).out, "gemm_e4m3"));
  CHECK(contains(sandbox.run({"registry", "list", "--imports", "-v"}).out, "gemm_e4m3"));
  const ToolResult one = sandbox.run({"registry", "list", "--imports", "2"});
  CHECK(contains(one.out, "gemm_e4m3"));
  CHECK_FALSE(contains(one.out, "publisher 1.0"));
  CHECK(sandbox.run({"registry", "show", "--import", "1", "--json"}).json()["imports"].size() == 1);
  CHECK(sandbox.run({"registry", "show", "--import", "3"}).status == 1);
  CHECK(sandbox.run({"registry", "stats", "--json"}).json()["imports"] == 2);
}

TEST_CASE("kernels of imports are shown and listed by name, and by pin") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  import_two_kernels(sandbox, "first", 'a', "publisher 1.0");
  import_two_kernels(sandbox, "second", 'b', "publisher 2.0");
  const auto entries = [&](const std::string& name) {
    return sandbox.run({"registry", "list", name, "--json"}).json()["entries"];
  };
  CHECK(sandbox.run({"registry", "list", "--json"}).json()["entries"].size() == 3);
  CHECK(entries("gemm_e4m3").size() == 2);
  CHECK(entries("fmha_decode").size() == 2);
  CHECK(entries("trtllm-gen").size() == 2);
  CHECK(entries("one").size() == 2);
  REQUIRE(entries("gemm_e4m3@bbb").size() == 1);
  CHECK(entries("gemm_e4m3@bbb")[0]["import"] == 2);
  CHECK(entries("gemm_e4m3@ccc").empty());
  const std::string key = entries("gemm_e4m3@aaa")[0]["key"];
  const ToolResult shown = sandbox.run({"registry", "show", key});
  CHECK(shown.status == 0);
  CHECK(contains(shown.out, "import 1"));
}

TEST_CASE("a name that kernels of several imports have is answered with their keys and pins") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  import_two_kernels(sandbox, "first", 'a', "publisher 1.0");
  import_two_kernels(sandbox, "second", 'b', "publisher 2.0");
  for (const std::string name : {"gemm_e4m3", "fmha_decode"}) {
    CAPTURE(name);
    const auto entries = sandbox.run({"registry", "list", name, "--json"}).json()["entries"];
    for (const ToolResult& answer : {sandbox.run({"registry", "show", name}), sandbox.run({"key", name}),
                                     sandbox.run({"explain", name, "--device", "9.0"})}) {
      CHECK(answer.status == 2);
      for (const auto& entry : entries)
        CHECK(contains(answer.err, entry["key"].get<std::string>() + " " + name + "@"));
      CHECK(contains(answer.err, name + "@aaaaaaaaaaaa"));
      CHECK(contains(answer.err, name + "@bbbbbbbbbbbb"));
      CHECK(contains(answer.err, "name one by its key"));
    }
    CHECK(sandbox.run({"registry", "show", name + "@bbb"}).status == 0);
  }
}

TEST_CASE("an import whose folder is gone is said to be in list, stats and verify") {
  const Sandbox sandbox;
  import_two_kernels(sandbox, "first", 'a', "publisher 1.0");
  std::filesystem::remove_all(sandbox / "first");
  CHECK(sandbox.run({"registry", "list", "--imports", "--json"}).json()["imports"][0]["gone"] == true);
  CHECK(sandbox.run({"registry", "stats", "--json"}).json()["imports_gone"] == 1);
  CHECK(sandbox.run({"registry", "verify"}).status == 1);
  CHECK(sandbox.run({"registry", "show", "gemm_e4m3"}).status == 1);
  CHECK(sandbox.run({"registry", "refresh", "1"}).status == 1);
  CHECK(sandbox.run({"registry", "refresh", "9"}).status == 1);
}
