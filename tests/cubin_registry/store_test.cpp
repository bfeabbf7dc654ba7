// SPDX-License-Identifier: Apache-2.0
#include <cubinet/cubin_registry/store.hpp>

#include <doctest/doctest.h>

#include <set>

namespace cubinet::test {
namespace {

TEST_CASE("every source of a kernel has a name of its own") {
  std::set<std::string_view> names;
  for (const KernelSource source :
       {KernelSource::process, KernelSource::memory, KernelSource::registry, KernelSource::bundle,
        KernelSource::compiled, KernelSource::imported, KernelSource::server})
    names.emplace(to_string(source));
  CHECK(names == std::set<std::string_view>{"process", "memory", "registry", "bundle", "compiled", "imported",
                                            "server"});
}

TEST_CASE("kinds of findings have names of their own") {
  CHECK(to_string(StoreFinding::Kind::stray_file) == "stray_file");
  CHECK(to_string(StoreFinding::Kind::conflicting_build) == "conflicting_build");
}

}  // namespace
}  // namespace cubinet::test
