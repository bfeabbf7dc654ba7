// SPDX-License-Identifier: Apache-2.0
#include "known_specs.hpp"

#include "cached_kernel.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace cubinet {
namespace {

KernelSpec numbered(int number) {
  return KernelSpec{"scale", {}}
      .set("factor", number)
      .set("type", "bf16")
      .set("weights", std::vector{0.5, 1.0});
}

std::shared_ptr<const CachedKernel> kernel_of(const KernelSpec& spec) {
  return std::make_shared<const CachedKernel>(nullptr, spec);
}

TEST_CASE("a specification is found by its values, and each difference matters") {
  KnownSpecs known;
  const KernelSpec spec = numbered(3);
  CHECK(known.find(spec) == nullptr);
  const auto kernel = kernel_of(spec);
  known.add(spec, kernel);
  CHECK(known.find(numbered(3)) == kernel.get());
  CHECK(known.find(numbered(4)) == nullptr);
  KernelSpec other = spec;
  other.set("factor", 3.0);
  CHECK(known.find(other) == nullptr);
  other = spec;
  other.options["fast-math"] = CompilerOptions::mapped_type{};
  CHECK(known.find(other) == nullptr);
  other = spec;
  other.maker = KernelMaker::source;
  CHECK(known.find(other) == nullptr);
}

TEST_CASE("the first kernel of a specification stays") {
  KnownSpecs known;
  const auto first = kernel_of(numbered(1));
  known.add(numbered(1), first);
  known.add(numbered(1), kernel_of(numbered(2)));
  CHECK(known.find(numbered(1)) == first.get());
}

TEST_CASE("more specifications than buckets are found") {
  KnownSpecs known;
  for (int number = 0; number < 3000; ++number)
    known.add(numbered(number), kernel_of(numbered(number)));
  unsigned wrong = 0;
  for (int number = 0; number < 3000; ++number) {
    const CachedKernel* found = known.find(numbered(number));
    if (found == nullptr || found->spec() != numbered(number)) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("threads that add and find specifications agree on the kernels") {
  KnownSpecs known;
  std::atomic<unsigned> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&known, &wrong, thread] {
      for (int i = 0; i < 100; ++i) {
        const KernelSpec spec = numbered((i + thread) % 50);
        known.add(spec, kernel_of(spec));
        const CachedKernel* found = known.find(spec);
        if (found == nullptr || found->spec() != spec) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace cubinet
