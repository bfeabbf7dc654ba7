// SPDX-License-Identifier: Apache-2.0
#include "record_arguments.hpp"

#include "support/ok.hpp"

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::cli;
using test::ok;

TEST_CASE("targets, keys and data types are parsed, and each kind of mistake is an error") {
  RecordArguments arguments;
  CHECK(arguments.empty());
  arguments.targets = {"sm_80,compute_90", "sm_90a"};
  arguments.functions = {"f"};
  CHECK_FALSE(arguments.empty());
  const RecordFilter filter = ok(record_filter_of(arguments));
  REQUIRE(filter.targets.size() == 3);
  CHECK(filter.targets[1].to_string() == "compute_90");
  CHECK(filter.functions == arguments.functions);
  CHECK_FALSE(record_filter_of({.targets = {"sm_101a"}}));
  CHECK_FALSE(record_filter_of({.keys = {"short"}}));
  CHECK_FALSE(record_filter_of({.types = {"bf17"}}));
}

TEST_CASE("data types are a list with commas, or several of them") {
  for (const std::vector<std::string>& types :
       {std::vector<std::string>{"bf16,e4m3"}, std::vector<std::string>{"bf16", "e4m3"}}) {
    CHECK(ok(record_filter_of({.types = types})).types ==
          std::vector<DataType>{DataType::bf16, DataType::e4m3});
  }
}
