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

}  // namespace
}  // namespace cubinet
