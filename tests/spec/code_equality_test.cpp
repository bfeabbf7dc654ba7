// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"
#include "support/ok.hpp"

#include <cubinet/spec/code_equality.hpp>

#include <doctest/doctest.h>

namespace cubinet::test {
namespace {

bool equal(const FakeCubin& first, const FakeCubin& second) {
  return ok(have_equal_code(make_fake_cubin(first), make_fake_cubin(second)));
}

TEST_CASE("images with the same kernels have equal code, whatever variables nothing refers to") {
  FakeCubin base;
  base.globals = {{"table", ".nv.global.init", 16}, {"other", ".nv.global.init", 64}};
  CHECK(equal(base, base));
  FakeCubin fewer = base;
  fewer.globals.pop_back();
  CHECK(equal(base, fewer));
}

TEST_CASE("other instructions, more of them, arguments or kernels are other code") {
  const FakeCubin base;
  FakeCubin other;
  other.filler = 0x5b;
  CHECK_FALSE(equal(base, other));
  other = base;
  other.code_bytes += 128;
  CHECK_FALSE(equal(base, other));
  other = base;
  other.kernels[0].parameter_bytes = 24;
  CHECK_FALSE(equal(base, other));
  other = base;
  other.kernels.push_back({"second"});
  CHECK_FALSE(equal(base, other));
  CHECK_FALSE(equal(other, base));
}

TEST_CASE("what is no cubin is an error on either side") {
  const Bytes image = make_fake_cubin({});
  CHECK(have_equal_code(image, as_bytes("text")).error().code == ErrorCode::corruption);
  CHECK(have_equal_code(as_bytes("text"), image).error().code == ErrorCode::corruption);
}

}  // namespace
}  // namespace cubinet::test
