// SPDX-License-Identifier: Apache-2.0
#include "support/compiler_search.hpp"
#include "support/fake_cubin.hpp"
#include "support/ok.hpp"

#include <cubinet/session/open_stores.hpp>
#include <cubinet/session/workload_coverage.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::test;

namespace {

std::shared_ptr<Runtime> runtime_with(const CompilerSearch& search,
                                      std::vector<std::shared_ptr<Store>> stores) {
  SessionOptions session;
  session.compiler = search;
  return ok(make_runtime(session, {.stores = std::move(stores)}, ok(TemplateCatalog::builtin())));
}

CompilerSearch no_compiler() {
  CompilerSearch search;
  search.library = "/absent.so";
  return search;
}

Workload workload_of(const std::variant<KernelSpec, WorkloadAttention>& work) {
  Workload workload;
  workload.add({work, {WorkloadDevice{{9, 0}, 132, 232448, "NVIDIA H200"}}, 0});
  return workload;
}

const WorkloadAttention kDecodeOfFour{{.batch = 4, .kv_len = 2048, .heads_q = 32, .heads_kv = 8}};

}  // namespace

TEST_CASE("a kernel that a store has is served from it, and one that none has is missing") {
  const KernelSpec stored{"stored", {}};
  const std::shared_ptr<WritableStore> store = make_memory_store();
  ok(store->publish(make_cubin(stored)));
  const auto runtime = runtime_with(no_compiler(), {store});
  const auto served = coverage_of(*runtime, {}, workload_of(stored));
  REQUIRE(served.size() == 1);
  CHECK(served[0].served());
  REQUIRE(served[0].kernels.size() == 1);
  CHECK(served[0].kernels[0].record != nullptr);
  CHECK(served[0].kernels[0].target.to_string() == "sm_90a");
  const auto missing = coverage_of(*runtime, {}, workload_of(KernelSpec{"missing", {}}));
  REQUIRE(missing.size() == 1);
  REQUIRE(missing[0].missing);
  CHECK(missing[0].missing->code == ErrorCode::not_found);
  CHECK_FALSE(missing[0].would_compile());
}

TEST_CASE("an entry is covered for each device that recorded it, in order of first use") {
  const auto runtime = runtime_with(no_compiler(), {});
  Workload workload;
  workload.add({KernelSpec{"second", {}}, {WorkloadDevice{{9, 0}}, WorkloadDevice{{10, 0}}}, 2});
  workload.add({KernelSpec{"first", {}}, {WorkloadDevice{{8, 0}}}, 1});
  const auto covered = coverage_of(*runtime, {}, workload);
  REQUIRE(covered.size() == 3);
  CHECK(covered[0].entry == 0);
  CHECK(covered[0].device.capability == ComputeCapability{8, 0});
  CHECK(covered[1].entry == 1);
  CHECK(covered[2].entry == 1);
}

TEST_CASE("a problem whose kernels a compiler could make would compile, and without one it is missing") {
  const auto with = coverage_of(*runtime_with(compiler_search(), {}), {}, workload_of(kDecodeOfFour));
  REQUIRE(with.size() == 1);
  CHECK(with[0].would_compile());
  REQUIRE_FALSE(with[0].kernels.empty());
  CHECK(with[0].kernels[0].would_compile());
  const auto without = coverage_of(*runtime_with(no_compiler(), {}), {}, workload_of(kDecodeOfFour));
  REQUIRE(without.size() == 1);
  CHECK(without[0].missing);
}

TEST_CASE("a device that no kernel knows is an error of its entry alone") {
  Workload workload = workload_of(kDecodeOfFour);
  workload.add({kDecodeOfFour, {WorkloadDevice{{9, 0}, 0, 0, ""}}, 0});
  const auto covered = coverage_of(*runtime_with(no_compiler(), {}), {}, workload);
  REQUIRE(covered.size() == 2);
  CHECK(covered[0].missing);
}
