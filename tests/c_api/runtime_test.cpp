// SPDX-License-Identifier: Apache-2.0
#include "api/runtime_fixture.hpp"
#include "c_fixture.hpp"

using namespace cubinet::test;

TEST_CASE("a runtime is created without a driver and counts nothing yet") {
  const TempDir folder;
  const CConfig config = test_config(folder, kScaleTemplate);
  const CRuntime runtime = make_runtime(config);
  cubinet_counters counters = CUBINET_COUNTERS_INIT;
  REQUIRE(cubinet_runtime_counters(runtime.get(), &counters, nullptr) == CUBINET_OK);
  CHECK(counters.compiled == 0);
  CHECK(counters.failures == 0);
}

TEST_CASE("a runtime without modules has no memory in use and nothing to trim") {
  const TempDir folder;
  const CConfig config = test_config(folder, kScaleTemplate);
  const CRuntime runtime = make_runtime(config);
  cubinet_memory memory = CUBINET_MEMORY_INIT;
  memory.bytes = 7;
  REQUIRE(cubinet_runtime_memory(runtime.get(), CUBINET_ALL_DEVICES, &memory, nullptr) == CUBINET_OK);
  CHECK(memory.bytes == 0);
  std::uint64_t modules = 7;
  REQUIRE(cubinet_runtime_trim(runtime.get(), UINT64_MAX, 0, &modules, nullptr, nullptr) == CUBINET_OK);
  CHECK(modules == 0);
  Failure failure;
  CHECK(cubinet_runtime_trim(runtime.get(), 1, -2, nullptr, nullptr, failure.out()) ==
        CUBINET_INVALID_ARGUMENT);
  CHECK(failure.message().find("`device` is -2") != std::string::npos);
  CHECK(cubinet_runtime_memory(runtime.get(), 0, nullptr, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK(cubinet_runtime_trim(nullptr, 1, 0, nullptr, nullptr, nullptr) == CUBINET_INVALID_ARGUMENT);
}

TEST_CASE("a runtime lists the stores that it searches") {
  const TempDir folder;
  const CConfig config = test_config(folder, kScaleTemplate);
  const CRuntime runtime = make_runtime(config);
  cubinet_text* json = nullptr;
  REQUIRE(cubinet_runtime_stores(runtime.get(), &json, nullptr) == CUBINET_OK);
  const CText stores(json);
  CHECK(text(cubinet_text_get(stores.get())).find((folder / "home").string()) != std::string::npos);
  CHECK(cubinet_runtime_stores(nullptr, &json, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK(cubinet_runtime_stores(runtime.get(), nullptr, nullptr) == CUBINET_INVALID_ARGUMENT);
}

TEST_CASE("a runtime that cannot open its options fails with the reason") {
  const CConfig config = make_config();
  set(config, "template_file", "/absent.cu");
  cubinet_runtime* runtime = nullptr;
  Failure failure;
  CHECK(cubinet_runtime_create(config.get(), &runtime, failure.out()) != CUBINET_OK);
  CHECK(runtime == nullptr);
  CHECK(failure.message().find("/absent.cu") != std::string::npos);
  CHECK(cubinet_runtime_create(nullptr, &runtime, failure.out()) == CUBINET_INVALID_ARGUMENT);
  CHECK(cubinet_runtime_create(config.get(), nullptr, failure.out()) == CUBINET_INVALID_ARGUMENT);
  cubinet_runtime_release(nullptr);
}

TEST_CASE("a thread sets its caller and gets the one before") {
  cubinet_text* previous = nullptr;
  REQUIRE(cubinet_caller_set(cubinet_str("prefill"), &previous, nullptr) == CUBINET_OK);
  CHECK(text(cubinet_text_get(CText(previous).get())).empty());
  REQUIRE(cubinet_caller_set(cubinet_str(""), &previous, nullptr) == CUBINET_OK);
  CHECK(text(cubinet_text_get(CText(previous).get())) == "prefill");
  REQUIRE(cubinet_caller_set(cubinet_str(""), nullptr, nullptr) == CUBINET_OK);
  Failure failure;
  CHECK(cubinet_caller_set({nullptr, 3}, nullptr, failure.out()) == CUBINET_INVALID_ARGUMENT);
}
