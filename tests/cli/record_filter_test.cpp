// SPDX-License-Identifier: Apache-2.0
#include "record_filter.hpp"

#include "support/fake_cubin.hpp"

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::cli;

TEST_CASE("records pass when they meet every kind of filter that is given") {
  KernelSpec one;
  one.name = "one";
  KernelSpec two;
  two.name = "two";
  test::FakeCubin ampere;
  ampere.target = {8, 0, TargetKind::baseline};
  const std::vector<std::shared_ptr<const CubinRecord>> records = {test::make_cubin(one).record,
                                                                   test::make_cubin(one, ampere).record,
                                                                   test::make_cubin(two, ampere).record};
  const auto count = [&](RecordFilter filter) {
    const auto selected = select_records(filter, records);
    REQUIRE(selected);
    return selected->size();
  };
  CHECK(count({}) == 3);
  CHECK(count({{"one"}, {}, {}}) == 2);
  CHECK(count({{"one", "two"}, {"sm_80"}, {}}) == 2);
  CHECK(count({{"two"}, {"sm_90a"}, {}}) == 0);
  CHECK(count({{}, {"sm_80,sm_90a"}, {}}) == 3);
  CHECK(count({{}, {}, {records[1]->identity.key().to_string()}}) == 1);
  CHECK_FALSE(select_records({{}, {"sm_101a"}, {}}, records));
  CHECK_FALSE(select_records({{}, {}, {"short"}}, records));
}

TEST_CASE("data types are a list with commas, or several of them") {
  KernelSpec spec;
  spec.name = "one";
  spec.set("dtype", "bf16");
  const CubinRecords records = {test::make_cubin(spec).record};
  for (const std::vector<std::string>& types :
       {std::vector<std::string>{"bf16,e4m3"}, std::vector<std::string>{"e4m3", "fp16,bf16"}}) {
    RecordFilter filter;
    filter.types = types;
    const auto selected = select_records(filter, records);
    REQUIRE(selected);
    CHECK(selected->size() == 1);
  }
}
