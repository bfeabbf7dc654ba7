// SPDX-License-Identifier: Apache-2.0
#include "api/runtime_fixture.hpp"
#include "c_fixture.hpp"

#include <nlohmann/json.hpp>

#include <cstring>
#include <map>
#include <vector>

using namespace cubinet::test;

namespace {

std::string taken(cubinet_text* owned) {
  const CText guard(owned);
  return text(cubinet_text_get(owned));
}

struct Received {
  std::vector<nlohmann::json> records;
  std::vector<std::string> begun;
  int open = 0;
  int dropped = 0;
};

void compile(const CRuntime& runtime) {
  cubinet_spec* made = nullptr;
  REQUIRE(cubinet_spec_create(c_string("scale"), &made, nullptr) == CUBINET_OK);
  const CSpec spec(made);
  cubinet_value factor = CUBINET_VALUE_INIT;
  factor.type = CUBINET_VALUE_INTEGER;
  factor.integer = 3;
  REQUIRE(cubinet_spec_set(spec.get(), c_string("factor"), &factor, nullptr) == CUBINET_OK);
  cubinet_kernel* resolved = nullptr;
  REQUIRE(cubinet_kernel_from_spec(runtime.get(), spec.get(), &resolved, nullptr) == CUBINET_OK);
  const CKernel kernel(resolved);
  cubinet_function* loaded = nullptr;
  Failure failure;
  REQUIRE_MESSAGE(
      cubinet_function_get(kernel.get(), 0, cubinet_string{nullptr, 0}, &loaded, failure.out()) == CUBINET_OK,
      failure.message());
  const CFunction function(loaded);
}

}  // namespace

TEST_CASE("records come with their fields, ranges are nested, and both callbacks are dropped once") {
  const TempDir folder;
  Received received;
  {
    const CConfig config = test_config(folder, kScaleTemplate);
    cubinet_log_callback log = CUBINET_LOG_CALLBACK_INIT;
    Failure failure;
    CHECK(cubinet_config_set_log(config.get(), &log, failure.out()) == CUBINET_INVALID_ARGUMENT);
    log.user = &received;
    log.record = [](void* user, int32_t, cubinet_string, cubinet_string fields) {
      static_cast<Received*>(user)->records.push_back(nlohmann::json::parse(text(fields)));
    };
    log.drop = [](void* user) { ++static_cast<Received*>(user)->dropped; };
    REQUIRE(cubinet_config_set_log(config.get(), &log, nullptr) == CUBINET_OK);
    cubinet_range_callback ranges = CUBINET_RANGE_CALLBACK_INIT;
    ranges.user = &received;
    ranges.begin = [](void* user, const char* name) {
      ++static_cast<Received*>(user)->open;
      static_cast<Received*>(user)->begun.emplace_back(name);
    };
    CHECK(cubinet_config_set_ranges(config.get(), &ranges, failure.out()) == CUBINET_INVALID_ARGUMENT);
    ranges.end = [](void* user) { --static_cast<Received*>(user)->open; };
    ranges.drop = [](void* user) { ++static_cast<Received*>(user)->dropped; };
    REQUIRE(cubinet_config_set_ranges(config.get(), &ranges, nullptr) == CUBINET_OK);
    CHECK(cubinet_config_set_ranges(nullptr, &ranges, nullptr) == CUBINET_INVALID_ARGUMENT);
    CHECK(cubinet_config_set_ranges(config.get(), nullptr, nullptr) == CUBINET_INVALID_ARGUMENT);
    const CRuntime runtime = make_runtime(config);
    compile(runtime);
  }
  CHECK(received.dropped == 2);
  CHECK(received.open == 0);
  REQUIRE(received.begun.size() == 4);
  CHECK(received.begun[0] == "cubinet request scale(factor=3, unroll=1)");
  bool seen = false;
  for (const auto& record : received.records)
    seen = seen || (record.value("event", "") == "kernel" && record.value("source", "") == "compiled");
  CHECK(seen);
}

TEST_CASE("metrics are JSON and text, and the journal has what was compiled") {
  const TempDir folder;
  const CConfig config = test_config(folder, kScaleTemplate);
  const CRuntime runtime = make_runtime(config);
  compile(runtime);
  cubinet_text* out = nullptr;
  REQUIRE(cubinet_runtime_metrics(runtime.get(), &out, nullptr) == CUBINET_OK);
  const auto metrics = nlohmann::json::parse(taken(out));
  CHECK(metrics["requests"]["compiled"] == 1);
  CHECK(metrics["seconds"]["compile"]["count"] == 1);
  const cubinet_label labels[] = {{c_string("model"), c_string("a\"b")}};
  REQUIRE(cubinet_runtime_prometheus(runtime.get(), labels, 1, &out, nullptr) == CUBINET_OK);
  CHECK(taken(out).find("cubinet_requests_total{outcome=\"compiled\",model=\"a\\\"b\"} 1\n") !=
        std::string::npos);
  REQUIRE(cubinet_runtime_prometheus(runtime.get(), nullptr, 0, &out, nullptr) == CUBINET_OK);
  CHECK(taken(out).find("cubinet_requests_total{outcome=\"compiled\"} 1\n") != std::string::npos);
  REQUIRE(cubinet_runtime_journal(runtime.get(), c_string("1h"), c_string("scale"), &out, nullptr) ==
          CUBINET_OK);
  const auto journal = nlohmann::json::parse(taken(out));
  REQUIRE(journal["entries"].size() == 1);
  CHECK(journal["entries"][0]["parameters"]["factor"] == 3);
}

TEST_CASE("wrong arguments of the metrics and the journal are errors that name them") {
  const TempDir folder;
  const CConfig config = test_config(folder, kScaleTemplate);
  const CRuntime runtime = make_runtime(config);
  cubinet_text* out = nullptr;
  Failure failure;
  const cubinet_label wrong[] = {{c_string("1x"), c_string("")}};
  CHECK(cubinet_runtime_prometheus(runtime.get(), wrong, 1, &out, failure.out()) == CUBINET_INVALID_ARGUMENT);
  CHECK(failure.message().find("'1x'") != std::string::npos);
  CHECK(cubinet_runtime_prometheus(runtime.get(), nullptr, 1, &out, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK(cubinet_runtime_journal(runtime.get(), c_string("soon"), c_string(""), &out, failure.out()) ==
        CUBINET_INVALID_ARGUMENT);
  CHECK(failure.message().find("'soon'") != std::string::npos);
  CHECK(cubinet_runtime_metrics(nullptr, &out, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK(cubinet_runtime_metrics(runtime.get(), nullptr, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK(cubinet_runtime_journal(runtime.get(), c_string(""), c_string(""), nullptr, nullptr) ==
        CUBINET_INVALID_ARGUMENT);
  const CConfig homeless = make_config();
  const CRuntime nowhere = make_runtime(homeless);
  CHECK(cubinet_runtime_journal(nowhere.get(), c_string(""), c_string(""), &out, failure.out()) ==
        CUBINET_UNAVAILABLE);
  CHECK(out == nullptr);
}
