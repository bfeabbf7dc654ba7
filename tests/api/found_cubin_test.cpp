// SPDX-License-Identifier: Apache-2.0
#include <cubinet/found_cubin.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace cubinet;

TEST_CASE("every source of a kernel has a name of its own") {
  std::set<std::string> names;
  for (const KernelSource source :
       {KernelSource::process, KernelSource::memory, KernelSource::registry, KernelSource::bundle,
        KernelSource::compiled, KernelSource::imported, KernelSource::server})
    names.emplace(to_string(source));
  CHECK(names ==
        std::set<std::string>{"process", "memory", "registry", "bundle", "compiled", "imported", "server"});
}
