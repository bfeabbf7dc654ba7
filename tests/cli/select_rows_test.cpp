// SPDX-License-Identifier: Apache-2.0
#include "attention/problems.hpp"
#include "select_line.hpp"
#include "support/published_header.hpp"

#include <cubinet/cubin_registry/imports.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace cubinet;
using namespace cubinet::test;

namespace {

// Adds a folder of published kernels, which can be launched, to the sandbox's home.
void import_rows(const Sandbox& sandbox, std::vector<KernelRow> rows, const std::string& name) {
  HomeOptions options;
  options.path = sandbox.home();
  const auto registry = Home::open(options);
  REQUIRE(registry);
  ArtifactImport import;
  import.folder = sandbox / name;
  std::filesystem::create_directories(import.folder);
  import.rows = std::move(rows);
  for (KernelRow& row : import.rows) {
    row.implementation = kPublishedImplementation;
    row.layout = "0.6.13";
    import.files.push_back({row.function_name + ".cubin", row.digest, 1});
  }
  std::sort(import.files.begin(), import.files.end(),
            [](const ArtifactFile& a, const ArtifactFile& b) { return a.name < b.name; });
  const auto number = (*registry)->imports().publish(import);
  REQUIRE_MESSAGE(number, (number ? "" : number.error().to_line()));
}

ToolResult select_decode(const Sandbox& sandbox, const std::string& more = {}) {
  return select_in(sandbox, "--batch 64 --kv-len 8192 --heads-q 64 --heads-kv 8 --device 10.0 " + more);
}

}  // namespace

TEST_CASE("rows of imported folders are chosen from without a table, and named with their folder") {
  const Sandbox sandbox;
  const auto rows = rows_for(generation(64, 1, 8192, 64, 8));
  CHECK(select_decode(sandbox).json()["backend"] == "templates");
  import_rows(sandbox, rows, "published");
  const auto document = select_decode(sandbox).json();
  CHECK(document["requested"] == "auto");
  CHECK(document["backend"] == "published");
  CHECK(document["target"] == "sm_100f");
  CHECK(document["source"].get<std::string>().find("published") != std::string::npos);
  CHECK(contains(document["order"].get<std::string>(), "not measured by us"));
  // The templates serve a problem that the published rows decline. The result reports both
  // backends.
  const auto other = select_decode(sandbox, "--page-size 32").json();
  CHECK(other["backend"] == "templates");
  CHECK(other["declines"][0]["backend"] == "published");
}

TEST_CASE("of two imports that name one kernel the last one is taken, and nothing is warned of") {
  const Sandbox sandbox;
  auto rows = rows_for(generation(64, 1, 8192, 64, 8));
  import_rows(sandbox, rows, "first");
  for (KernelRow& row : rows)
    row.digest = sha256(as_bytes(row.function_name + "changed"));
  import_rows(sandbox, rows, "second");
  const ToolResult result = select_decode(sandbox);
  REQUIRE(result.status == 0);
  CHECK(contains(result.json()["source"].get<std::string>(), "second"));
  CHECK(result.err.empty());
}

TEST_CASE("several versions side by side are warned of nowhere") {
  const Sandbox sandbox;
  auto rows = rows_for(generation(64, 1, 8192, 64, 8));
  for (const char* pin : {"aaaa", "bbbb", "cccc"}) {
    for (KernelRow& row : rows) {
      row.pin = pin;
      row.digest = sha256(as_bytes(row.function_name + pin));
    }
    import_rows(sandbox, rows, pin);
  }
  const ToolResult result = select_decode(sandbox);
  REQUIRE(result.status == 0);
  CHECK(result.err.empty());
  CHECK(result.json()["backend"] == "published");
}

TEST_CASE("the rows of a table are judged like those of a home, and what cannot be read is told") {
  const Sandbox sandbox;
  const auto rows = rows_for(generation(64, 1, 8192, 64, 8));
  sandbox.write("rows.h", published_header(rows));
  const std::string table = "--table " + sandbox.path("rows.h");
  const auto document = select_decode(sandbox, table).json();
  CHECK(document["backend"] == "published");
  CHECK(select_decode(sandbox, table + " --forbid sm_100f").status == 1);
  CHECK(select_decode(sandbox, "--table " + sandbox.path("none.h")).status != 0);
}

TEST_CASE("a home that cannot be used has no rows, and the question is answered all the same") {
  const Sandbox sandbox;
  sandbox.write("file", "no folder");
  const ToolResult result = run_tool({"--home", sandbox.path("file"), "select", "attention", "--json",
                                      "--kv-len", "64", "--heads-q", "8", "--device", "9.0"});
  CHECK(result.status == 0);
  CHECK(contains(result.err, "the home is not searched"));
}

TEST_CASE("the rules of a version are chosen by its name, and an unknown version is an error") {
  const Sandbox sandbox;
  import_rows(sandbox, rows_for(generation(64, 1, 8192, 64, 8)), "published");
  CHECK(select_decode(sandbox, "--rules 0.6.13").json()["backend"] == "published");
  const auto refused = select_decode(sandbox, "--rules 9.9");
  CHECK(refused.status == 2);
  CHECK(contains(refused.json()["error"]["message"].get<std::string>(), "--rules"));
  CHECK(contains(refused.json()["error"]["message"].get<std::string>(), "9.9"));
}
