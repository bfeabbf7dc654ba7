// SPDX-License-Identifier: Apache-2.0
#include <cubinet/spec/kernel_spec.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

TEST_CASE("the order in which parameters are set does not matter") {
  KernelSpec first{"t", {}};
  first.set("a", 1).set("b", "bf16");
  KernelSpec second{"t", {}};
  second.set("b", "bf16").set("a", 1);
  CHECK(first == second);
}

TEST_CASE("setting a parameter again replaces its value") {
  KernelSpec spec{"t", {}};
  spec.set("a", 1).set("a", 2);
  CHECK(spec.to_string() == "t(a=2)");
}

TEST_CASE("values of different types are different and print as they are written") {
  KernelSpec spec{"t", {}};
  spec.set("flag", true).set("number", -5).set("type", "bf16");
  CHECK(spec.to_string() == "t(flag=true, number=-5, type=bf16)");
  CHECK_FALSE(KernelSpec{"t", {}}.set("x", true) == KernelSpec{"t", {}}.set("x", 1));
  CHECK_FALSE(KernelSpec{"t", {}}.set("x", "1") == KernelSpec{"t", {}}.set("x", 1));
}

TEST_CASE("a number is told in the shortest text that is this number, and a list by its numbers") {
  KernelSpec spec{"t", {}};
  spec.set("a", 0.1F).set("b", 0.1).set("c", 1e300).set("d", -0.0).set("e", 5.0F);
  spec.set("l", std::vector<std::int64_t>{1, -2}).set("m", std::vector<float>{0.5F, -0.0F});
  CHECK(spec.to_string() == "t(a=0.1, b=0.1, c=1e+300, d=0, e=5, l=1,-2, m=0.5,0)");
  CHECK_FALSE(KernelSpec{"t", {}}.set("x", 0.5) == KernelSpec{"t", {}}.set("x", 0.5F));
  CHECK(KernelSpec{"t", {}}.set("x", -0.0) == KernelSpec{"t", {}}.set("x", 0.0));
}

}  // namespace
}  // namespace cubinet
