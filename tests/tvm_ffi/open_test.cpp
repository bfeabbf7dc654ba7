// SPDX-License-Identifier: Apache-2.0
#include "ffi_values.hpp"
#include "kept_runtime.hpp"
#include "support/temp_dir.hpp"

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::test;
using cubinet::tvm_ffi::Value;

// NOLINTBEGIN(bugprone-reserved-identifier): tvm-ffi prescribes the prefix.
extern "C" int __tvm_ffi_cubinet_open(void*, const Value*, std::int32_t, Value*);
extern "C" int __tvm_ffi_cubinet_close(void*, const Value*, std::int32_t, Value*);
// NOLINTEND(bugprone-reserved-identifier)

TEST_CASE("a runtime is opened with options and variables, found by its number, and closed once") {
  const TempDir folder;
  const std::string variable = "CUBINET_HOME=" + (folder / "variable").string();
  const std::string home = (folder / "home").string();
  Value by_variable = none(), by_option = none();
  const Value variables[] = {text_value("variable"), text_value(variable.c_str())};
  REQUIRE(__tvm_ffi_cubinet_open(nullptr, variables, 2, &by_variable) == 0);
  CHECK(std::filesystem::exists(folder / "variable"));
  // Options win over variables, whatever the order.
  const Value options[] = {text_value("home"), text_value(home.c_str()), text_value("variable"),
                           text_value("CUBINET_HOME=/nowhere/at/all")};
  REQUIRE(__tvm_ffi_cubinet_open(nullptr, options, 4, &by_option) == 0);
  CHECK(std::filesystem::exists(folder / "home"));
  CHECK(by_option.type == tvm_ffi::kInteger);
  CHECK(by_option.integer != by_variable.integer);
  CHECK(tvm_ffi::runtime_of(by_option.integer));
  CHECK(__tvm_ffi_cubinet_close(nullptr, &by_option, 1, nullptr) == 0);
  CHECK(__tvm_ffi_cubinet_close(nullptr, &by_option, 1, nullptr) == -1);
  CHECK(!tvm_ffi::runtime_of(by_option.integer));
  CHECK(tvm_ffi::runtime_of(by_variable.integer));
  CHECK(__tvm_ffi_cubinet_close(nullptr, &by_variable, 1, nullptr) == 0);
}

TEST_CASE("wrong options open nothing") {
  Value result = none();
  const Value unknown[] = {text_value("hom"), text_value("/x")};
  CHECK(__tvm_ffi_cubinet_open(nullptr, unknown, 2, &result) == -1);
  CHECK(__tvm_ffi_cubinet_open(nullptr, unknown, 1, &result) == -1);
  const Value numbers[] = {integer(1), integer(2)};
  CHECK(__tvm_ffi_cubinet_open(nullptr, numbers, 2, &result) == -1);
  CHECK(__tvm_ffi_cubinet_close(nullptr, unknown, 1, &result) == -1);
  CHECK(result.type == tvm_ffi::kNone);
}
