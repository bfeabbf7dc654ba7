// SPDX-License-Identifier: Apache-2.0
#include "describe_image.hpp"

#include "support/fake_cubin.hpp"
#include "support/text.hpp"

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::cli;
using namespace cubinet::test;

namespace {

Bytes bytes_of(std::string_view text) {
  const ByteView view = as_bytes(text);
  return Bytes(view.begin(), view.end());
}

}  // namespace

TEST_CASE("an image is described by itself, and by its record where there is one") {
  FakeCubin fake;
  fake.kernels = {{"kernel", 16}};
  KernelSpec spec;
  spec.name = "one";
  const Cubin cubin = make_cubin(spec, fake);
  const auto report = inspect_image(*cubin.image);
  REQUIRE(report);
  CHECK_FALSE(contains(to_text(*report, nullptr), "of dynamic"));
  const std::string text = to_text(*report, cubin.record.get());
  CHECK(contains(text, "kernel: 0 bytes of static shared memory, 0 of dynamic, 16 bytes of arguments"));
  CHECK(contains(text, "tag 9, length 1, value 01"));
  CHECK(contains(text, "-arch sm_90a"));
}

TEST_CASE("code that is yet to be linked is said to be") {
  FakeCubin fake;
  fake.kernels = {{"kernel", 16}};
  for (const bool relocatable : {false, true}) {
    fake.relocatable = relocatable;
    const auto report = inspect_image(*make_cubin({"one", {}}, fake).image);
    REQUIRE(report);
    CHECK(contains(to_text(*report, nullptr), "relocatable: to be linked") == relocatable);
  }
}

TEST_CASE("PTX is told by its text") {
  const auto report =
      inspect_image(bytes_of("// made\n.version 9.0\n.target sm_90a\n.entry k(.param .u64 p)\n{ ret; }"));
  REQUIRE(report);
  CHECK(report->target == "compute_90a");
  CHECK(contains(to_text(*report, nullptr), "compute_90a, PTX 9.0"));
}

TEST_CASE("variables are listed with their sizes, and the declared name of one that has it") {
  FakeCubin fake;
  fake.globals = {{"_ZN2ns5tableIfEE", ".nv.global.init", 256}, {"scale", ".nv.constant3", 16}};
  Cubin cubin = make_cubin({"one", {}}, fake);
  CubinRecord record = *cubin.record;
  record.globals = {{"ns::table<float>", "_ZN2ns5tableIfEE"}};
  const auto report = inspect_image(*cubin.image);
  REQUIRE(report);
  const std::string text = to_text(*report, &record);
  CHECK(contains(text, "_ZN2ns5tableIfEE: 256 bytes of global memory, ns::table<float>"));
  CHECK(contains(text, "scale: 16 bytes of constant memory"));
}

TEST_CASE("names from a file cannot drive a terminal") {
  const auto report = inspect_image(bytes_of(".version 9.0 .target sm_90a .entry \x1b[31m"));
  REQUIRE(report);
  CHECK_FALSE(contains(to_text(*report, nullptr), "\x1b"));
}

TEST_CASE("what is no image is named with a way on") {
  const auto refusal = [](std::string_view content) {
    const auto report = inspect_image(bytes_of(content));
    REQUIRE_FALSE(report);
    CHECK(report.error().code == ErrorCode::invalid_argument);
    CHECK_FALSE(report.error().remedy.empty());
    return report.error().message;
  };
  CHECK(contains(refusal("CBUN"), "a bundle"));
  CHECK(contains(refusal("CREC"), "record"));
  CHECK(contains(refusal("CENT"), "compiler"));
  CHECK(contains(refusal("#!/bin/sh"), "neither a cubin, nor PTX, nor a fatbinary"));
  CHECK(contains(refusal(""), "neither a cubin, nor PTX, nor a fatbinary"));
}
