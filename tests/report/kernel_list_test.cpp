// SPDX-License-Identifier: Apache-2.0
#include "hostile.hpp"

#include <cubinet/report/kernel_list.hpp>
#include <cubinet/report/parts.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::test;

namespace {

ListedKernel listed(const std::string& name, std::optional<BuildStatus> status = BuildStatus::current) {
  KernelSpec spec;
  spec.name = name;
  spec.set("hidden_size", 4096).set("dtype", "bf16");
  return {{test::make_cubin(spec).record, status, "the compiler is another one"}};
}

}  // namespace

TEST_CASE("a row states parameters, target, size, status, key and digest") {
  const ListedKernel kernel = listed("rms_norm");
  const std::string table = kernel_table({kernel}, {}).markup();
  const CubinRecord& record = *kernel.judged.record;
  for (const std::string& part :
       {std::string("<b><bdi>rms_norm</bdi></b><small><bdi>dtype=bf16, hidden_size=4096</bdi></small>"),
        std::string("sm_90a"), record.identity.key().to_string(), record.digest.to_hex(),
        std::string(">current<"), std::string(">compiled<")})
    CHECK_MESSAGE(contains(table, part), part);
  CHECK_FALSE(contains(table, "Last used"));
  CHECK_FALSE(contains(table, "the compiler is another one"));
}

TEST_CASE("a build that no request uses says why") {
  for (const BuildStatus status : {BuildStatus::stale, BuildStatus::foreign})
    CHECK(contains(kernel_table({listed("one", status)}, {}).markup(),
                   "<small>the compiler is another one</small>"));
  CHECK(contains(kernel_table({listed("one", std::nullopt)}, {}).markup(), ">unknown<"));
  ListedKernel brought = listed("one", std::nullopt);
  brought.judged.verdict.clear();
  brought.pinned = true;
  const std::string table = kernel_table({brought}, {}).markup();
  CHECK(contains(table, ">kept<"));
  CHECK(contains(table, ">pinned<"));
}

TEST_CASE("charts add up by template, target and time of use") {
  std::vector<ListedKernel> kernels = {listed("one"), listed("two"), listed("two")};
  kernels[0].last_used = kTestNow - 3'600;
  kernels[1].last_used = kTestNow - 90 * 86'400;
  const KernelListOptions options{true, kTestNow};
  const std::string charts = kernel_charts(kernels, options).markup();
  CHECK(contains(charts, "<bdi>two</bdi>"));
  for (const char* period : {"last day", "last week", "last month", "earlier", "never"})
    CHECK(contains(charts, period));
  CHECK(contains(kernel_table(kernels, options).markup(), ">90 days ago<"));
  CHECK(contains(kernel_table(kernels, options).markup(), ">never<"));
  CHECK_FALSE(contains(kernel_charts(kernels, {}).markup(), "never"));
  CHECK(kernel_charts({}, options).empty());
}

TEST_CASE("many templates are added up as others, and rows beyond the limit are counted") {
  std::vector<ListedKernel> kernels;
  for (int i = 0; i < 20; ++i)
    kernels.push_back(listed("name" + std::to_string(i)));
  CHECK(contains(kernel_charts(kernels, {}).markup(), "<bdi>9 others</bdi>"));
  kernels.resize(DataTable::kMaximumRows + 2, kernels.front());
  CHECK(contains(kernel_table(kernels, {}).markup(), "2 rows more are not listed."));
}

TEST_CASE("hostile kernels are harmless") {
  for (const std::string& name : test::hostile_names()) {
    CAPTURE(name.substr(0, 40));
    CHECK(test::is_harmless(kernel_table({listed(name, BuildStatus::stale)}, {}).markup()));
    CHECK(test::is_harmless(kernel_charts({listed(name)}, {}).markup()));
  }
}
