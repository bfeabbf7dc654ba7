// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"

#include <cubinet/session/record_filter.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

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
  const SmTarget sm_80 = ampere.target, sm_90a = {9, 0, TargetKind::specific};
  const auto count = [&](const RecordFilter& filter) { return select_records(filter, records).size(); };
  CHECK(count({}) == 3);
  CHECK(count({.templates = {"one"}}) == 2);
  CHECK(count({.templates = {"one", "two"}, .targets = {{sm_80}}}) == 2);
  CHECK(count({.templates = {"two"}, .targets = {{sm_90a}}}) == 0);
  CHECK(count({.targets = {{sm_80}, {sm_90a}}}) == 3);
  CHECK(count({.targets = {{sm_80, ImageKind::ptx}}}) == 0);
  CHECK(count({.keys = {records[1]->identity.key()}}) == 1);
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
    return select_records(filter, records).size();
  };
  const auto by_name = [&](const std::string& name) {
    RecordFilter filter;
    filter.kernels = {name};
    return select_records(filter, records).size();
  };
  CHECK(by_function("_Z4axpyIfLi4EEvv") == 2);
  CHECK(by_function("axpy<float, 4>") == 1);
  CubinRecord plain = *records.front();
  plain.entry_points.front().name = plain.entry_points.front().symbol = "_ZN2my5scaleEPf";
  records.push_back(std::make_shared<const CubinRecord>(std::move(plain)));
  CHECK(by_function("my::scale") == 1);
  CHECK(by_name("my::scale") == 1);
  CHECK(by_name("axpy<float, 4>") == 1);
  CHECK(by_name("axpy.cu") == 2);
  CHECK(by_function("axpy") == 0);
}

TEST_CASE("a kernel passes if all of its data types are wanted") {
  KernelSpec spec;
  spec.name = "one";
  spec.set("dtype_q", "bf16").set("dtype_kv", "e4m3");
  const CubinRecords records = {test::make_cubin(spec).record};
  CHECK(select_records({.types = {DataType::bf16, DataType::e4m3}}, records).size() == 1);
  CHECK(select_records({.types = {DataType::bf16}}, records).empty());
}

TEST_CASE("a name of several kernels is refused with their keys") {
  KernelSpec one;
  one.name = "kernel";
  one.set("number", 1);
  KernelSpec two = one;
  two.set("number", 2);
  const CubinRecords records = {test::make_cubin(one).record, test::make_cubin(two).record};
  CHECK(check_one_kernel("kernel", {records[0], records[0]}));
  const auto refused = check_one_kernel("kernel", records);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find(records[1]->identity.key().to_string()) != std::string::npos);
}
