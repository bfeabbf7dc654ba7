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

TEST_CASE("values keep their types in JSON") {
  KernelSpec spec;
  spec.name = "t";
  spec.set("flag", true).set("number", 64).set("type", "bf16");
  CHECK(describe(spec).dump() == R"({"parameters":{"flag":true,"number":64,"type":"bf16"},"template":"t"})");
}

TEST_CASE("a record tells its specification, target, origin and digests") {
  KernelSpec spec;
  spec.name = "t";
  spec.set("number", 64);
  Cubin cubin = test::make_cubin(spec);
  const auto described = describe_fully(*cubin.record);
  CHECK(described["template"] == "t");
  CHECK(described["target"] == "sm_90a");
  CHECK(described["origin"] == "compiled");
  CHECK(described["sha256"] == sha256(*cubin.image).to_hex());
  CHECK(described["bytes"] == cubin.image->size());
  CHECK(described["entry_points"][0]["threads"] == 128);
  CubinRecord imported = *cubin.record;
  imported.origin = CubinOrigin::bundle;
  imported.version = 7;
  CHECK(describe(imported)["bundle_version"] == 7);
  CHECK(describe_origin(imported) == "a bundle of version 7");
}
