// SPDX-License-Identifier: Apache-2.0
#include "device_filter.hpp"

#include "artifacts/published_folder.hpp"
#include "select_line.hpp"
#include "support/ok.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace cubinet;
using namespace cubinet::test;

namespace {

// Problems for the kernels of the made-up folder: decode of e4m3, pages of 16 for the family and
// for 10.3, pages of 32 for the family alone.
const char* const kProblems =
    "# a fleet's shapes\n"
    "\n"
    "--batch 64 --kv-len 8192 --heads-q 64 --heads-kv 8 --dtype-q e4m3 --page-size 16\n"
    "  --batch 64 --kv-len 4096 --heads-q 64 --heads-kv 8 --dtype-q e4m3 --page-size 32 \r\n";
const char* const kUnserved = "--op mla-decode --batch 8 --kv-len 4096 --heads-q 128\n";

using Names = std::set<std::string>;

// A published folder that the home knows, in a bundle, and on a server that is a folder.
struct Shapes {
  Shapes() { sandbox.write("shapes.txt", kProblems); }

  ToolResult run(std::vector<std::string> line, const std::string& device = "10.3") const {
    line.insert(line.end(), {"--device", device, "--sm-count", "148", "--problems",
                             sandbox.path("shapes.txt"), "--json"});
    return sandbox.run(line);
  }
  void import_folder() const {
    REQUIRE(sandbox.run({"import-artifacts", folder.path().string()}).status == 0);
  }
  std::string bundle() const {
    import_folder();
    REQUIRE(sandbox.run({"bundle", "create", "-o", sandbox.path("all.bundle"), "--imports", "--channel", "c"})
                .status == 0);
    return sandbox.path("all.bundle");
  }
  std::string channel() const {
    REQUIRE(sandbox.run({"push", bundle(), "file://" + sandbox.path("served")}).status == 0);
    return "file://" + sandbox.path("served") + "#c";
  }
  static Names functions_in(const std::string& file) {
    Names names;
    for (const auto& record : ok(ok(Bundle::open(file))->list()))
      names.insert(record->entry_points.front().symbol);
    return names;
  }

  Sandbox sandbox;
  PublishedFolder folder = sound_folder(sandbox / "cubins/c0ffee/fmha");
  std::string of_103 = published_name("103a", 16);
  std::string of_family = published_name("100f", 16);
  std::string of_both = published_name("100f", 32);
};

}  // namespace

TEST_CASE_FIXTURE(Shapes,
                  "what select names for problems is all that is pulled of a bundle of imported kernels") {
  const std::string reference = channel();
  const std::string part = sandbox.path("part.bundle");
  const ToolResult dry = run({"pull", reference, "--dry-run", "-o", part});
  REQUIRE_MESSAGE(dry.status == 0, dry.err);
  CHECK(dry.json()["kernels"] == 2);
  REQUIRE(run({"pull", reference, "-o", part}).status == 0);
  CHECK(functions_in(part) == Names{of_103, of_both});
  CHECK(run({"pull", reference, "-o", part}, "10.0").json()["unserved"].empty());
  CHECK(functions_in(part) == Names{of_family, of_both});
  // The kernels are pulled into another home, where the same query has the same result.
  const Sandbox other;
  const ToolResult pulled = other.run({"pull", reference, "--device", "10.3", "--sm-count", "148",
                                       "--problems", sandbox.path("shapes.txt"), "--json"});
  REQUIRE_MESSAGE(pulled.status == 0, pulled.err);
  CHECK(pulled.json()["kernels"] == 2);
  const ToolResult selected =
      select_in(other,
                "--device 10.3 --sm-count 148 --batch 64 --kv-len 8192 --heads-q 64 --heads-kv 8 "
                "--dtype-q e4m3 --page-size 16 --backend published");
  REQUIRE_MESSAGE(selected.status == 0, selected.err);
  CHECK(selected.json()["function"] == of_103);
}

TEST_CASE_FIXTURE(Shapes, "bundles are made of what select names for problems") {
  const std::string all = bundle();
  const std::string part = sandbox.path("part.bundle");
  REQUIRE(run({"bundle", "subset", all, "-o", part}).status == 0);
  CHECK(functions_in(part) == Names{of_103, of_both});
  REQUIRE(run({"bundle", "create", "-o", part}).status == 0);
  CHECK(functions_in(part) == Names{of_103, of_both});
  REQUIRE(sandbox.run({"bundle", "subset", all, "-o", part, "--device", "10.0"}).status == 0);
  CHECK(functions_in(part).size() == 4);  // three of the family, one of 10.0
}

TEST_CASE_FIXTURE(Shapes, "what select names for problems is all that is mirrored") {
  const std::string source = sandbox.path("cubins");
  const auto there = [&](const std::string& function) {
    return std::filesystem::exists(sandbox / ("www/c0ffee/fmha/" + function + ".cubin"));
  };
  const ToolResult mirrored = run({"mirror", source, sandbox.path("www")});
  REQUIRE_MESSAGE(mirrored.status == 0, mirrored.err);
  CHECK(mirrored.json()["folders"][0]["fetched"] == 3);  // including the header
  CHECK(there(of_103));
  CHECK(there(of_both));
  CHECK(sandbox.run({"mirror", source, sandbox.path("w2"), "--device", "10.0", "--json"})
            .json()["folders"][0]["fetched"] == 5);
  CHECK(
      sandbox.run({"mirror", source, sandbox.path("w3"), "--device", "10.0", "--target", "sm_90a"}).status ==
      2);
}

TEST_CASE_FIXTURE(Shapes, "a problem that no kernel serves is named with status 1, and the others are") {
  const std::string reference = channel();
  sandbox.write("shapes.txt", std::string(kProblems) + kUnserved);
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"pull", reference, "-o", sandbox.path("part.bundle")},
        std::vector<std::string>{"bundle", "subset", sandbox.path("all.bundle"), "-o",
                                 sandbox.path("part.bundle")},
        std::vector<std::string>{"bundle", "create", "-o", sandbox.path("part.bundle")},
        std::vector<std::string>{"mirror", sandbox.path("cubins"), sandbox.path("www")}}) {
    const ToolResult result = run(line);
    CAPTURE(line.front());
    CHECK(result.status == 1);
    REQUIRE(result.json()["unserved"].size() == 1);
    CHECK(result.json()["unserved"][0]["problem"] == "--op mla-decode --batch 8 --kv-len 4096 --heads-q 128");
    if (line.front() != "mirror") CHECK(functions_in(sandbox.path("part.bundle")).size() == 2);
  }
  sandbox.write("shapes.txt", kUnserved);
  const ToolResult nothing = run({"pull", reference});
  CHECK(nothing.status == 1);
  CHECK(nothing.json()["error"]["code"] == "not_found");
  CHECK(contains(nothing.json()["error"]["message"].get<std::string>(), "of the first problem"));
}

TEST_CASE_FIXTURE(Shapes, "what is no problem is told by its line before anything is asked") {
  const auto refused = [&](const std::string& text, const std::string& why) {
    sandbox.write("shapes.txt", text);
    const ToolResult result = run({"pull", "https://host.invalid/a#stable", "--offline"});
    CAPTURE(text);
    CHECK(result.status == 2);
    CHECK(contains(result.json()["error"]["message"].get<std::string>(), why));
  };
  refused("# nothing\n", "holds no line");
  refused("# one\n--kv-len 10\n", "line 2: --heads-q is required");
  refused("--kv-len 10 --heads-q 8 --target sm_90", "line 1: ");
  refused("--kv-len 10 --heads-q 8 --dtype-q bf17", "'bf17' is no data type");
  refused("--kv-len 10 --heads-q 8 --heads-kv 3", "line 1: ");
  refused("--help", "line 1: ");
  CHECK(sandbox.run({"pull", "file:///x#a", "--problems", sandbox.path("shapes.txt")}).status == 2);
  CHECK(sandbox.run({"pull", "file:///x#a", "--device", "10.3", "--problems", sandbox.path("shapes.txt")})
            .status == 2);  // the number of SMs is missing
}
