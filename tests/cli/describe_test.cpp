// SPDX-License-Identifier: Apache-2.0
#include "describe.hpp"

#include "support/fake_cubin.hpp"

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::cli;

TEST_CASE("columns are as wide as their widest cell and lines do not end in blanks") {
  Table table({"A", "LONG", "C"});
  CHECK(table.empty());
  table.add({"wide cell", "x", ""});
  table.add({"y", "z", "end"});
  CHECK(table.to_string() == "A          LONG  C\nwide cell  x\ny          z     end");
}

TEST_CASE("the command line of a kernel names its parameters and its target") {
  KernelSpec spec;
  spec.name = "t";
  spec.set("flag", true).set("number", 64);
  CHECK(compile_command(spec, SmTarget{9, 0, TargetKind::specific}) ==
        "cubinet compile t -p flag=true -p number=64 --target sm_90a");
  spec.options = {{"use_fast_math", ""}, {"D:N", "4 + 1"}};
  const std::string command = compile_command(spec, SmTarget{9, 0, TargetKind::specific});
  CAPTURE(command);
  CHECK(command.find(" --flag=--use_fast_math") != std::string::npos);
  CHECK(command.find("N=4 + 1'") != std::string::npos);
}

TEST_CASE("an origin is a phrase, with the version of a bundle and the number of an import") {
  CubinRecord record = *test::make_cubin(KernelSpec()).record;
  CHECK(describe_origin(record) == "compiled here");
  record.origin = CubinOrigin::bundle;
  record.version = 7;
  CHECK(describe_origin(record) == "a bundle of version 7");
  record.origin = CubinOrigin::imported;
  CHECK(describe_origin(record) == "import 7");
}
