// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"

#include <cubinet/spec/kernel_resources.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

Bytes two_kernels() {
  return test::make_fake_cubin({{9, 0, TargetKind::specific}, {{"first", 16}, {"second", 0}}});
}

TEST_CASE("arguments and notes of an image are told, and what it does not state is not made up") {
  const auto report = report_cubin(two_kernels());
  REQUIRE(report);
  REQUIRE(report->kernels.size() == 2);
  CHECK(report->kernels[0].name == "first");
  CHECK(report->kernels[0].argument_bytes == 16);
  CHECK(report->kernels[0].arguments == std::vector<ArgumentPlace>{{0, 16}});
  CHECK(report->kernels[1].arguments.empty());
  CHECK_FALSE(report->kernels[0].registers);
  CHECK_FALSE(report->kernels[0].max_threads);
  CHECK(report->kernels[0].static_shared_bytes == 0);
  REQUIRE(report->compatibility.size() == 1);
  CHECK(report->compatibility[0].tag == 9);
  CHECK(to_hex(report->compatibility[0].value) == "01");
  REQUIRE(report->notes.size() == 1);
  CHECK(report->notes[0].section == ".note.nv.tkinfo");
  CHECK(report->notes[0].owner == "NVIDIA Corp");
  CHECK(report->notes[0].type == 2000);
}

TEST_CASE("variables are told with their size, and where they lie") {
  test::FakeCubin description;
  description.globals = {{"scale", ".nv.constant3", 64},
                         {"table", ".nv.global.init", 8},
                         {"shared", ".nv.global", 4, true},
                         {"other", ".nv.constant0.kernel", 4}};
  const auto report = report_cubin(test::make_fake_cubin(description));
  REQUIRE(report);
  REQUIRE(report->globals.size() == 3);
  CHECK(report->globals[0].name == "scale");
  CHECK(report->globals[0].space == "constant");
  CHECK(report->globals[0].bytes == 64);
  CHECK(report->globals[1].space == "global");
  CHECK(report->globals[2].name == "shared");
  CHECK(report->globals[2].space == "managed");
}

TEST_CASE("what is no cubin is told as such") {
  CHECK(report_cubin({}).error().code == ErrorCode::corruption);
  CHECK(report_cubin(as_bytes("#!/bin/sh")).error().code == ErrorCode::corruption);
}

TEST_CASE("every truncation and every flipped bit of a cubin gives a report or an error" *
          doctest::test_suite("loop")) {
  const Bytes image = two_kernels();
  for (std::size_t length = 0; length < image.size(); ++length)
    static_cast<void>(report_cubin(ByteView(image).first(length)));
  for (std::size_t i = 0; i < image.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      Bytes mutant = image;
      mutant[i] ^= static_cast<std::byte>(1U << bit);
      static_cast<void>(report_cubin(mutant));
    }
  }
}

}  // namespace
}  // namespace cubinet
