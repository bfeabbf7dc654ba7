// SPDX-License-Identifier: Apache-2.0
#include "api/runtime_fixture.hpp"
#include "c_fixture.hpp"

#include <fmt/format.h>

using namespace cubinet::test;

namespace {

cubinet_status prepare(const CRuntime& runtime, const std::string& workload, CText& report,
                       Failure& failure) {
  cubinet_prepare_options options = CUBINET_PREPARE_OPTIONS_INIT;
  options.workload = c_string(workload);
  std::size_t entries = 0;
  options.user = &entries;
  options.memory = 1;
  options.progress = [](void* user, const cubinet_prebuild_progress* progress) {
    if (progress->kernel.size != 0) ++*static_cast<std::size_t*>(user);
  };
  cubinet_text* json = nullptr;
  const auto status = cubinet_prepare(runtime.get(), &options, &json, failure.out());
  report.reset(json);
  if (status == CUBINET_OK) CHECK(entries > 0);
  return status;
}

std::string merged(std::initializer_list<std::string> texts, Failure& failure) {
  std::vector<cubinet_string> strings;
  for (const std::string& each : texts)
    strings.push_back(c_string(each));
  cubinet_text* result = nullptr;
  cubinet_workload_merge(strings.data(), strings.size(), &result, failure.out());
  const CText owned(result);
  return owned == nullptr ? "" : text(cubinet_text_get(result));
}

std::string recorded(const CRuntime& runtime) {
  cubinet_text* result = nullptr;
  Failure failure;
  REQUIRE(cubinet_runtime_workload(runtime.get(), &result, failure.out()) == CUBINET_OK);
  const CText owned(result);
  return text(cubinet_text_get(result));
}

void load(const CRuntime& runtime, std::int64_t factor) {
  const CSpec spec = make_spec("scale");
  set_integer(spec, "factor", factor);
  const CKernel kernel = make_kernel(runtime, spec);
  cubinet_function* function = nullptr;
  Failure failure;
  REQUIRE_MESSAGE(
      cubinet_function_get(kernel.get(), 0, cubinet_string{}, &function, failure.out()) == CUBINET_OK,
      failure.message());
  cubinet_function_release(function);
}

// Returns a workload of this many recordings.
std::string recordings(std::size_t first, std::size_t count) {
  std::string lines = fmt::format("{{\"cubinet_workload\":1,\"lines\":{}}}\n", count);
  for (std::size_t i = first; i < first + count; ++i)
    lines += fmt::format(
        "{{\"compiled\":0,\"failures\":0,\"hits\":0,\"loads\":0,\"misses\":0,\"recording\":\"{:032x}\"}}\n",
        i);
  return lines;
}

}  // namespace

TEST_CASE("workloads whose merge is above the limit are not merged") {
  Failure failure;
  CHECK_FALSE(merged({recordings(0, 60000), recordings(40000, 60000)}, failure).empty());
  CHECK(merged({recordings(0, 60000), recordings(40001, 60000)}, failure).empty());
  CHECK(failure.message().find("100001 lines") != std::string::npos);
}

TEST_CASE("two runtimes record, and their merged workload is prebuilt and prepared without a compile") {
  const TempDir folder;
  const CConfig config = test_config(folder, kScaleTemplate);
  Failure failure;
  const CRuntime first = make_runtime(config);
  const CRuntime second = make_runtime(config);
  REQUIRE(cubinet_runtime_record(first.get(), 1, failure.out()) == CUBINET_OK);
  REQUIRE(cubinet_runtime_record(second.get(), 1, failure.out()) == CUBINET_OK);
  load(first, 2);
  load(second, 3);
  REQUIRE(cubinet_runtime_record(second.get(), 0, failure.out()) == CUBINET_OK);
  load(second, 4);
  const std::string workload = merged({recorded(first), recorded(second)}, failure);
  CHECK(workload == merged({workload, recorded(second), recorded(first)}, failure));
  CHECK(workload.find("\"factor\":3") != std::string::npos);
  CHECK(workload.find("\"factor\":4") == std::string::npos);

  const std::string output = (folder / "w.bundle").string();
  cubinet_prebuild_options options = CUBINET_PREBUILD_OPTIONS_INIT;
  options.output = c_string(output);
  options.workload = c_string(workload);
  cubinet_text* json = nullptr;
  REQUIRE_MESSAGE(cubinet_prebuild(config.get(), &options, &json, failure.out()) == CUBINET_OK,
                  failure.message());
  cubinet_text_release(json);

  set(config, "home", "");
  set(config, "bundle", output);
  set(config, "compile", "never");
  const CRuntime served = make_runtime(config);
  CText report;
  REQUIRE_MESSAGE(prepare(served, workload, report, failure) == CUBINET_OK, failure.message());
  CHECK(text(cubinet_text_get(report.get())).find("\"loaded\": 2") != std::string::npos);
  const std::string more = workload.substr(0, workload.size() - 1) + "\nnonsense\n";
  CHECK(prepare(served, more, report, failure) == CUBINET_INVALID_ARGUMENT);
  CHECK(text(failure.info().detail).find("\"loaded\": 2") != std::string::npos);
  CHECK(merged({more}, failure).empty());
  CHECK(failure.message().find("workloads[0]") != std::string::npos);
  CHECK(prepare(served, "", report, failure) == CUBINET_INVALID_ARGUMENT);
}
