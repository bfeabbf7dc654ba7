// SPDX-License-Identifier: Apache-2.0
#include "describe.hpp"

#include "support/fake_cubin.hpp"

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::cli;

TEST_CASE("bytes and seconds are shown with three or four digits and a unit") {
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(1023) == "1023 B");
  CHECK(format_bytes(1024) == "1.0 KiB");
  CHECK(format_bytes(std::uint64_t{3} << 29) == "1.5 GiB");
  CHECK(format_bytes(UINT64_MAX) == "16777216.0 TiB");
  CHECK(format_seconds(2.5) == "2.50 s");
  CHECK(format_seconds(0.0025) == "2.50 ms");
  CHECK(format_seconds(2.5e-6) == "2.50 us");
}

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
