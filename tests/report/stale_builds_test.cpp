// SPDX-License-Identifier: Apache-2.0
#include "api/runtime_fixture.hpp"
#include "support/compiler_search.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"
#include "support/text.hpp"

#include <cubinet/report.hpp>
#include <cubinet/session/prebuild.hpp>

using namespace cubinet;
using namespace cubinet::test;

namespace {

constexpr const char* kMatrix =
    R"({"kernels": [{"template": "scale", "parameters": {"factor": [2, 3]}, "targets": ["sm_90a"]}]})";

// A home with two kernels of a template in a file, and a bundle of them.
struct BuiltTemplate {
  BuiltTemplate() {
    write_file(source(), kScaleTemplate);
    session.home = (folder / "home").string();
    session.compiler = compiler_search();
    session.template_files = {source()};
    PrebuildOptions options;
    options.matrix = kMatrix;
    options.output = bundle();
    REQUIRE(ok(prebuild(session, options)).compiled() == 2);
  }
  std::string source() const { return (folder / "scale.cu").string(); }
  std::string bundle() const { return (folder / "b.bundle").string(); }

  TempDir folder;
  SessionOptions session;
};

}  // namespace

TEST_CASE("builds are current until the template changes, and then stale in the home alone") {
  const BuiltTemplate built;
  CHECK(contains(ok(html_report(built.session, {})), "<dt>Stale or foreign</dt><dd>0</dd>"));
  write_file(built.source(), std::string(kScaleTemplate) + "// changed\n");
  const std::string page = ok(html_report(built.session, {}));
  CHECK(contains(page, "<dt>Stale or foreign</dt><dd>2</dd>"));
  CHECK(contains(page, "2 builds would be compiled again at the next request"));
  CHECK(contains(page, ">stale<"));
  CHECK(contains(ok(html_report(built.session, {built.bundle()})), "<dt>Cannot be used here</dt><dd>0</dd>"));
}

TEST_CASE("a bundle of another interface version cannot be used") {
  const BuiltTemplate built;
  std::string newer = kScaleTemplate;
  newer.replace(newer.find("\"interface\": 1"), 14, "\"interface\": 2");
  write_file(built.source(), newer);
  const std::string page = ok(html_report(built.session, {built.bundle()}));
  CHECK(contains(page, "<dt>Cannot be used here</dt><dd>2</dd>"));
  CHECK(contains(page, ">foreign<"));
}

TEST_CASE("an entry that a compiler could serve would compile, and is served by the bundle of its workload") {
  const BuiltTemplate built;
  const std::string file = (built.folder / "w.workload").string();
  Workload workload;
  workload.add({scale_spec(2), {WorkloadDevice{{9, 0}}}, 0});
  workload.add({scale_spec(5), {WorkloadDevice{{9, 0}}}, 1});
  ok(workload.write(file));
  const std::string page = ok(html_report(built.session, {file, built.bundle()}));
  CHECK(contains(page, "<dt>Served</dt><dd>50 %</dd>"));
  CHECK(contains(page, "<dt>Would compile</dt><dd>1</dd>"));
  CHECK(contains(page,
                 "1 of 2 entries would be compiled at the first request: no build is in " + built.bundle()));
  CHECK(page.find("badge warning\">would compile") < page.find("badge good\">served"));
}
