// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"
#include "support/text.hpp"

#include <cubinet/session/image_report.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
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
  const auto report = report_image(*cubin.image);
  REQUIRE(report);
  const auto alone = describe(*report, nullptr);
  CHECK(alone["kind"] == "cubin");
  CHECK(alone["target"] == "sm_90a");
  CHECK(alone["kernels"][0]["argument_bytes"] == 16);
  CHECK(alone["kernels"][0]["dynamic_shared_bytes"].is_null());
  CHECK(alone["compatibility"][0]["value"] == "01");
  CHECK(contains(alone["notes"].dump(), "-arch sm_90a"));
  CHECK_FALSE(alone.contains("key"));
  const auto recorded = describe(*report, cubin.record.get());
  CHECK(recorded["key"] == cubin.record->identity.key().to_string());
  CHECK(recorded["kernels"][0]["dynamic_shared_bytes"] == 0);
}

TEST_CASE("the JSON states whether code must still be linked") {
  FakeCubin fake;
  fake.kernels = {{"kernel", 16}};
  for (const bool relocatable : {false, true}) {
    fake.relocatable = relocatable;
    const auto report = report_image(*make_cubin({"one", {}}, fake).image);
    REQUIRE(report);
    CHECK(describe(*report, nullptr)["relocatable"] == relocatable);
  }
}

TEST_CASE("PTX is recognised by its text") {
  const auto report =
      report_image(bytes_of("// made\n.version 9.0\n.target sm_90a\n.entry k(.param .u64 p)\n{ ret; }"));
  REQUIRE(report);
  CHECK(report->kind == ImageKind::ptx);
  CHECK(report->target == "compute_90a");
  CHECK(describe(*report, nullptr)["ptx_version"] == "9.0");
}

TEST_CASE("variables are listed with their sizes, and with the declared name if the record has one") {
  FakeCubin fake;
  fake.globals = {{"_ZN2ns5tableIfEE", ".nv.global.init", 256}, {"scale", ".nv.constant3", 16}};
  Cubin cubin = make_cubin({"one", {}}, fake);
  CubinRecord record = *cubin.record;
  record.globals = {{"ns::table<float>", "_ZN2ns5tableIfEE"}};
  const auto report = report_image(*cubin.image);
  REQUIRE(report);
  const auto globals = describe(*report, &record)["globals"];
  REQUIRE(globals.size() == 2);
  CHECK(globals[0]["declared"] == "ns::table<float>");
  CHECK(globals[0]["bytes"] == 256);
  CHECK(globals[0]["space"] == "global");
  CHECK(globals[1]["declared"].is_null());
}

TEST_CASE("a file that is no image is refused with a remedy") {
  for (const char* content : {"#!/bin/sh", ""}) {
    const auto report = report_image(bytes_of(content));
    REQUIRE_FALSE(report);
    CHECK(report.error().code == ErrorCode::invalid_argument);
    CHECK_FALSE(report.error().remedy.empty());
    CHECK(contains(report.error().message, "neither a cubin, nor PTX, nor a fatbinary"));
  }
}
