// SPDX-License-Identifier: Apache-2.0
// Tests that compiled kernels are rows of the home's table. Needs NVRTC.
#include "attention/problems.hpp"
#include "select_line.hpp"
#include "support/compiler_search.hpp"
#include "support/fake_cubin.hpp"
#include "support/ok.hpp"

#include <cubinet/attention/backend.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/cubin_registry/imports.hpp>
#include <cubinet/session.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

using namespace cubinet;
using namespace cubinet::test;

namespace {

ToolResult select_decode(const Sandbox& sandbox, const std::string& more = {}) {
  return select_in(sandbox, "--batch 4 --kv-len 8192 --heads-q 32 --heads-kv 8 --device 9.0 " + more);
}

ToolResult compile(const Sandbox& sandbox, const nlohmann::json& specification, const std::string& target) {
  std::vector<std::string> line = {"compile", "attention_decode", "--target", target};
  for (const auto& [name, value] : specification["parameters"].items())
    line.insert(line.end(),
                {"-p", name + "=" + (value.is_string() ? value.get<std::string>() : value.dump())});
  return sandbox.run(line);
}

// Replaces the home's only build by one of another compiler.
void make_stale(const Sandbox& sandbox) {
  HomeOptions options;
  options.path = sandbox.home();
  const auto home = ok(Home::open(options));
  const auto records = ok(home->list());
  REQUIRE(records.size() == 1);
  const auto image = ok(home->load(records.front()))->image;
  ok(home->remove(records));
  auto other = *records.front();
  other.fingerprint.digest = sha256(as_bytes("another compiler"));
  ok(home->publish({std::make_shared<const CubinRecord>(std::move(other)), image}));
}

struct SelectCase {
  const char* options;
  AttentionProblem problem;
};

std::vector<SelectCase> select_cases() {
  AttentionProblem windowed = generation(4, 1, 8192, 64, 8);
  windowed.window = 1024;
  AttentionProblem capped = generation(4, 1, 8192, 64, 8);
  capped.soft_cap = 30;
  return {
      {"--batch 1 --kv-len 4096 --heads-q 32 --heads-kv 8", generation(1, 1, 4096, 32, 4)},
      {"--batch 32 --q-len 4 --kv-len 8192 --heads-q 64 --heads-kv 8", generation(32, 4, 8192, 64, 8)},
      {"--op mla-decode --batch 8 --kv-len 4096 --heads-q 128", generation(8, 1, 4096, 128, 128, 576, 512)},
      {"--batch 4 --kv-len 8192 --heads-q 64 --heads-kv 8 --window 1024", windowed},
      {"--batch 4 --kv-len 8192 --heads-q 64 --heads-kv 8 --soft-cap 30", capped}};
}

// Adds rows for these problems on several targets to the home. Rows with an argument layout can be
// launched.
void import_rows(const Sandbox& sandbox, const std::vector<SelectCase>& cases, const std::string& layout) {
  ArtifactImport import;
  import.folder = sandbox / "published";
  import.pin = std::string(64, 'a');
  import.version = "1";
  std::filesystem::create_directories(import.folder);
  for (const SelectCase& one : cases) {
    for (const SmTarget target :
         {SmTarget{8, 0}, SmTarget{9, 0, TargetKind::specific}, SmTarget{10, 0, TargetKind::family}}) {
      for (KernelRow row : rows_for(one.problem)) {
        FakeCubin fake;
        fake.target = target;
        row.function_name += std::to_string(import.rows.size());
        fake.kernels = {{row.function_name, 0}};
        const Bytes image = make_fake_cubin(fake);
        row.implementation = kPublishedImplementation;
        row.target = target;
        row.pin = import.pin;
        row.layout = layout;
        row.digest = sha256(image);
        sandbox.write("published/" + row.function_name + ".cubin", std::string(as_text(image)));
        import.files.push_back({row.function_name + ".cubin", row.digest, image.size()});
        import.rows.push_back(std::move(row));
      }
    }
  }
  std::sort(import.files.begin(), import.files.end(),
            [](const ArtifactFile& a, const ArtifactFile& b) { return a.name < b.name; });
  HomeOptions home;
  home.path = sandbox.home();
  ok(ok(Home::open(home))->imports().publish(import));
}

// Checks that `select` names the plan that `run` would launch, and returns the backend; "" if none
// serves.
std::string check_selected(const Sandbox& sandbox, const Session& session, const SelectCase& one,
                           const std::string& device, std::uint32_t sm_count) {
  const auto document =
      select_in(sandbox, one.options + (" --device " + device) + " --sm-count " + std::to_string(sm_count))
          .json();
  CAPTURE(one.options);
  CAPTURE(device);
  CAPTURE(document.dump());
  const auto resolution = ok(session.plan(one.problem, ok(DeviceFacts::named(device, sm_count))));
  CHECK(document["declines"].size() == resolution.declined.size());
  if (!resolution.plan) {
    CHECK(document["backend"].is_null());
    return "";
  }
  const AttentionPlan& plan = *resolution.plan;
  CHECK(document["launchable"] == true);
  CHECK(document["backend"] == plan.backend_name());
  CHECK(document["order"] == resolution.order);
  CHECK(document["function"] == plan.row.function_name);
  CHECK(document["target"] == plan.row.target.to_string());
  CHECK(document["grid"] == plan.steps.front().grid);
  CHECK(document["kv_splits"] == plan.division.kv_splits);
  return std::string(plan.backend_name());
}

}  // namespace

TEST_CASE("select names the kernel and the backend that run would launch") {
  const std::vector<SelectCase> cases = select_cases();
  for (const char* layout : {"", "0.6.13"}) {
    CAPTURE(layout);
    const Sandbox sandbox;
    import_rows(sandbox, cases, layout);
    SessionOptions options;
    options.home = sandbox.home().string();
    options.compiler = compiler_search();
    const auto session = ok(Session::open(options));
    std::map<std::string, std::set<std::string>> backends;
    for (const SelectCase& one : cases) {
      backends["8.0"].insert(check_selected(sandbox, *session, one, "8.0", 108));
      backends["9.0"].insert(check_selected(sandbox, *session, one, "9.0", 132));
      backends["10.0"].insert(check_selected(sandbox, *session, one, "10.0", 148));
    }
    CHECK(backends["9.0"] == std::set<std::string>{"templates"});
    CHECK(backends["10.0"].count("published") == (*layout == '\0' ? 0 : 1));
  }
}

TEST_CASE("a kernel that was compiled as select asked for it is named with its digest and its target") {
  const Sandbox sandbox;
  const auto wanted = select_decode(sandbox).json();
  CHECK(wanted["exists"] == false);
  CHECK(wanted["digest"].is_null());
  REQUIRE(compile(sandbox, wanted["specification"], "sm_90").status == 0);
  const auto found = select_decode(sandbox).json();
  CHECK(found["exists"] == true);
  CHECK(found["digest"].get<std::string>().size() == 64);
  CHECK(found["target"] == "sm_90");
  CHECK(found["key"] != wanted["key"]);  // the target is part of the key
  // The grid may differ: the best division may need a further kernel, which does not exist, while
  // another division of nearly the same time needs this one alone.
  CHECK(found["specification"] == wanted["specification"]);
  const auto shown = sandbox.run({"registry", "show", found["key"].get<std::string>(), "--json"}).json();
  CHECK(shown["entries"][0]["sha256"] == found["digest"]);
  CHECK(sandbox.run({"explain", found["key"].get<std::string>(), "--device", "9.0"}).status == 0);
  CHECK(select_decode(sandbox, "--forbid sm_90").json()["exists"] == false);
}

TEST_CASE("a stale build is not said to exist, whatever else the kernel has") {
  const Sandbox sandbox;
  const auto wanted = select_decode(sandbox).json()["specification"];
  REQUIRE(compile(sandbox, wanted, "sm_90a").status == 0);
  make_stale(sandbox);
  CHECK(select_decode(sandbox).json()["exists"] == false);
  const nlohmann::json matrix = {{"kernels",
                                  {{{"template", wanted["template"]},
                                    {"parameters", wanted["parameters"]},
                                    {"targets", {"compute_90"}}}}}};
  sandbox.write("m.json", matrix.dump());
  const std::string bundle = sandbox.path("ptx.bundle");
  REQUIRE(
      run_tool({"prebuild", sandbox.path("m.json"), "-o", bundle, "--home", sandbox.path("other")}).status ==
      0);
  CHECK(select_decode(sandbox, "--bundle " + bundle).json()["exists"] == false);
}

TEST_CASE("a command that select prints can be typed as it stands") {
  const Sandbox sandbox;
  const ToolResult declined = select_decode(sandbox, "--backend published");
  REQUIRE(declined.status == 1);
  const auto fixes = declined.json()["fixes"];
  REQUIRE(fixes.size() == 2);
  CHECK(fixes[0] == "cubinet import-artifacts FOLDER --home " + sandbox.home().string());
  const std::string compile = fixes[1];
  CAPTURE(compile);
  REQUIRE(compile.starts_with("cubinet "));
  const std::string command = std::string("HOME=/nonexistent CUDA_HOME='") + cuda_root() + "' '" +
                              tool_path() + "' " + compile.substr(8) + " >/dev/null 2>&1";
  REQUIRE(std::system(command.c_str()) == 0);
  CHECK(select_decode(sandbox).json()["exists"] == true);
}
