// SPDX-License-Identifier: Apache-2.0
#include <cubinet/runtime.hpp>

#include <doctest/doctest.h>

#include <set>

namespace cubinet {
namespace {

TEST_CASE("every source of a kernel has a name of its own") {
  std::set<std::string_view> names;
  for (const KernelSource source : {KernelSource::process, KernelSource::memory, KernelSource::registry,
                                    KernelSource::bundle, KernelSource::compiled}) {
    names.insert(to_string(source));
  }
  CHECK(names.size() == 5);
  CHECK(to_string(KernelSource::bundle) == "bundle");
}

}  // namespace
}  // namespace cubinet
