// SPDX-License-Identifier: Apache-2.0
#include "api/runtime_fixture.hpp"
#include "c_fixture.hpp"

using namespace cubinet::test;

namespace {

struct FrozenRuntime {
  TempDir folder;
  CConfig config = test_config(folder, kScaleTemplate);
  CRuntime runtime = make_runtime(config);

  CKernel kernel(std::int64_t factor) const {
    const CSpec spec = make_spec("scale");
    set_integer(spec, "factor", factor);
    return make_kernel(runtime, spec);
  }
  cubinet_status get(const CKernel& kernel, Failure& failure) const {
    cubinet_function* function = nullptr;
    const auto status = cubinet_function_get(kernel.get(), 0, cubinet_string{}, &function, failure.out());
    cubinet_function_release(function);
    return status;
  }
  std::string refusals() const {
    cubinet_text* json = nullptr;
    REQUIRE(cubinet_runtime_refusals(runtime.get(), &json, nullptr) == CUBINET_OK);
    return text(cubinet_text_get(CText(json).get()));
  }
};

}  // namespace

TEST_CASE("a frozen runtime serves loaded kernels and fallbacks, and counts what it refuses") {
  const FrozenRuntime service;
  Failure failure;
  const CKernel loaded = service.kernel(1);
  const CKernel replaced = service.kernel(2);
  const CKernel refused = service.kernel(3);
  REQUIRE(service.get(loaded, failure) == CUBINET_OK);
  const cubinet_kernel* kernels[] = {replaced.get()};
  const cubinet_kernel* substitutes[] = {loaded.get()};
  cubinet_freeze_options options = CUBINET_FREEZE_OPTIONS_INIT;
  options.kernels = kernels;
  options.substitutes = substitutes;
  options.fallback_count = 1;
  REQUIRE(cubinet_runtime_freeze(service.runtime.get(), &options, failure.out()) == CUBINET_OK);
  CHECK(service.get(loaded, failure) == CUBINET_OK);
  CHECK(service.get(replaced, failure) == CUBINET_OK);
  REQUIRE(cubinet_caller_set(cubinet_str("decode"), nullptr, nullptr) == CUBINET_OK);
  CHECK(service.get(refused, failure) == CUBINET_NOT_FOUND);
  REQUIRE(cubinet_caller_set(cubinet_str(""), nullptr, nullptr) == CUBINET_OK);
  CHECK(failure.message().find("the Runtime is frozen") != std::string::npos);
  const std::string counted = service.refusals();
  for (const char* part : {"\"frozen\": true", "\"caller\": \"decode\"", "\"count\": 1", "\"device\": 0",
                           "\"fallbacks\": 1", "\"others\": 0", "scale(factor=3"})
    CHECK_MESSAGE(counted.find(part) != std::string::npos, part);
  REQUIRE(cubinet_runtime_thaw(service.runtime.get(), failure.out()) == CUBINET_OK);
  CHECK(service.refusals().find("\"frozen\": false") != std::string::npos);
  CHECK(service.get(refused, failure) == CUBINET_OK);
}

TEST_CASE("a freeze refuses a substitute that is not loaded, and wrong arguments") {
  const FrozenRuntime service;
  Failure failure;
  const CKernel kernel = service.kernel(1);
  const cubinet_kernel* kernels[] = {kernel.get()};
  const cubinet_kernel* none[] = {nullptr};
  cubinet_freeze_options options = CUBINET_FREEZE_OPTIONS_INIT;
  options.kernels = kernels;
  options.substitutes = kernels;
  options.fallback_count = 1;
  CHECK(cubinet_runtime_freeze(service.runtime.get(), &options, failure.out()) == CUBINET_NOT_FOUND);
  options.substitutes = none;
  CHECK(cubinet_runtime_freeze(service.runtime.get(), &options, failure.out()) == CUBINET_INVALID_ARGUMENT);
  CHECK(failure.message().find("options.substitutes") != std::string::npos);
  options.substitutes = nullptr;
  CHECK(cubinet_runtime_freeze(service.runtime.get(), &options, failure.out()) == CUBINET_INVALID_ARGUMENT);
  CHECK(service.refusals().find("\"frozen\": false") != std::string::npos);
  REQUIRE(cubinet_runtime_freeze(service.runtime.get(), nullptr, failure.out()) == CUBINET_OK);
  CHECK(cubinet_runtime_freeze(nullptr, nullptr, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK(cubinet_runtime_thaw(nullptr, nullptr) == CUBINET_INVALID_ARGUMENT);
  cubinet_text* json = nullptr;
  CHECK(cubinet_runtime_refusals(nullptr, &json, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK(cubinet_runtime_refusals(service.runtime.get(), nullptr, nullptr) == CUBINET_INVALID_ARGUMENT);
}
