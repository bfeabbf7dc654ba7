// SPDX-License-Identifier: Apache-2.0
// What was compiled is a row of the home's table. Needs NVRTC.
#include "select_line.hpp"

#include <doctest/doctest.h>

using namespace cubinet::test;

namespace {

ToolResult select_decode(const Sandbox& sandbox, const std::string& more = {}) {
  return select_in(sandbox, "--batch 4 --kv-len 8192 --heads-q 32 --heads-kv 8 --device 9.0 " + more);
}

}  // namespace

TEST_CASE("a kernel that was compiled as select asked for it is named with its digest and its target") {
  const Sandbox sandbox;
  const auto wanted = select_decode(sandbox).json();
  CHECK(wanted["exists"] == false);
  CHECK(wanted["digest"].is_null());
  std::vector<std::string> compile = {"compile", "attention_decode", "--target", "sm_90"};
  for (const auto& [name, value] : wanted["specification"]["parameters"].items())
    compile.insert(compile.end(),
                   {"-p", name + "=" + (value.is_string() ? value.get<std::string>() : value.dump())});
  REQUIRE(sandbox.run(compile).status == 0);
  const auto found = select_decode(sandbox).json();
  CHECK(found["exists"] == true);
  CHECK(found["digest"].get<std::string>().size() == 64);
  CHECK(found["target"] == "sm_90");
  CHECK(found["key"] != wanted["key"]);  // the target is part of it
  CHECK(found["grid"] == wanted["grid"]);
  CHECK(select_decode(sandbox, "--forbid sm_90").json()["exists"] == false);
}
