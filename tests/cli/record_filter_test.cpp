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

TEST_CASE("a function is named by its symbol or, of a source, by the name that it has there") {
  KernelSpec source;
  source.name = "axpy.cu";
  source.maker = KernelMaker::source;
  KernelSpec other;
  other.name = "other";
  CubinRecords records;
  for (const KernelSpec& spec : {source, other}) {
    CubinRecord record = *test::make_cubin(spec).record;
    record.entry_points.front().name = "axpy<float, 4>";
    record.entry_points.front().symbol = "_Z4axpyIfLi4EEvv";
    records.push_back(std::make_shared<const CubinRecord>(std::move(record)));
  }
  const auto by_function = [&](const std::string& name) {
    RecordFilter filter;
    filter.functions = {name};
    return select_records(filter, records)->size();
  };
  const auto by_name = [&](const std::string& name) {
    RecordFilter filter;
    filter.kernels = {name};
    return select_records(filter, records)->size();
  };
  CHECK(by_function("_Z4axpyIfLi4EEvv") == 2);
  CHECK(by_function("axpy<float, 4>") == 1);
  CHECK(by_name("axpy<float, 4>") == 1);
  CHECK(by_name("axpy.cu") == 1);
  CHECK(by_function("axpy") == 0);
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
