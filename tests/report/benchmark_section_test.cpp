// SPDX-License-Identifier: Apache-2.0
#include "hostile.hpp"
#include "support/ok.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/report/benchmark_section.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::test;

TEST_CASE("the first screen of a benchmark counts goals and names the worst ratio") {
  BenchmarkResults results;
  results.benchmark = "launch";
  results.machine = "NVIDIA H200";
  results.commit = "c1d62a5";
  results.rows = 2;
  results.ratios = {{"slow", "cubinet : X", 1.25, false, 1.1, false, {"cubinet 10 us"}},
                    {"fast", "cubinet : Y", 0.5, false, {}, {}, {}}};
  results.goals = {{"case", "read:0.9", {}, false}, {"case", "read:0.8", 0.85, true}};
  const Section section = benchmark_section("r.json", results);
  CHECK(section.title == "launch");
  const std::string markup = section.content.markup();
  CHECK(contains(markup, "<dt>Goals met</dt><dd>1 of 3</dd><dd class=\"note\">2 goals missed</dd>"));
  CHECK(contains(markup, "<dt>Not slower</dt><dd>1 of 2</dd>"));
  CHECK(contains(markup, "<dt>Worst ratio</dt><dd>1.25</dd>"));
  CHECK(contains(markup, "Bars reach from 1/2 to 2"));
  CHECK(contains(markup, "not measured"));
  CHECK(contains(markup, "cubinet 10 us"));
  CHECK(contains(markup, "c1d62a5"));
}

TEST_CASE("without a name of the benchmark the file is the title, and values alone are a table") {
  BenchmarkResults results;
  results.values = {{"case", {"kernel_us 8.71"}}};
  const Section section = benchmark_section("r.json", results);
  CHECK(section.title == "r.json");
  CHECK(contains(section.content.markup(), "kernel_us 8.71"));
  CHECK_FALSE(contains(section.content.markup(), "Ratios"));
}

TEST_CASE("hostile results are harmless") {
  for (const std::string& name : hostile_names()) {
    BenchmarkResults results{name, name, name, name};
    results.ratios = {{name, name, 1, false, 1, true, {name}}};
    results.goals = {{name, name, 1, true}};
    results.values = {{name, {name}}};
    CHECK(is_harmless(benchmark_section(name, results).content.markup()));
  }
}
