// SPDX-License-Identifier: Apache-2.0
#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/cubin_registry/registry.hpp>

#include <doctest/doctest.h>

#include "support/fake_cubin.hpp"
#include "support/temp_dir.hpp"

namespace cubinet::test {
namespace {

KernelSpec spec_of(int head_dim) {
  KernelSpec spec;
  spec.template_name = "attention_decode";
  return spec.set("dtype_q", "bf16").set("head_dim_qk", head_dim);
}

TEST_CASE("what is published is found and loaded, by this registry and by one opened later") {
  const TempDir folder;
  const Cubin cubin = make_cubin(spec_of(128));
  RegistryOptions options;
  options.home = folder / "home";
  for (int round = 0; round < 2; ++round) {
    auto registry = Registry::open(options);
    REQUIRE(registry);
    if (round == 0) REQUIRE((*registry)->publish(cubin));
    const auto found = (*registry)->find(cubin.record->identity);
    REQUIRE(found);
    REQUIRE(found->size() == 1);
    CHECK(*found->front() == *cubin.record);
    const auto loaded = (*registry)->load(found->front());
    REQUIRE(loaded);
    REQUIRE(*loaded);
    CHECK(*(*loaded)->image == *cubin.image);
    const auto report = (*registry)->verify();
    REQUIRE(report);
    CHECK(report->findings.empty());
    CHECK(report->entries == 1);
  }
}

}  // namespace
}  // namespace cubinet::test
