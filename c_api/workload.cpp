// SPDX-License-Identifier: Apache-2.0
#include "handles.hpp"
#include "structures.hpp"

#include <cubinet/session/prepare.hpp>

#include <fmt/format.h>

namespace cubinet::c_api {
namespace {

constexpr cubinet_prepare_options kNoPrepare = CUBINET_PREPARE_OPTIONS_INIT;

void report(const cubinet_prepare_options& given, const PrepareProgress& progress) {
  cubinet_prebuild_progress facts = {};
  facts.struct_size = sizeof facts;
  facts.done = progress.done;
  facts.total = progress.total;
  facts.kernel = to_c(progress.entry);
  facts.outcome = to_c(progress.outcome);
  given.progress(given.user, &facts);
}

PrepareOptions options_of(const cubinet_prepare_options& given) {
  PrepareOptions options;
  options.device = given.device;
  options.jobs = given.jobs;
  if (given.memory != 0) options.memory = given.memory;
  if (given.progress != nullptr)
    options.progress = [given](const PrepareProgress& progress) { report(given, progress); };
  if (given.cancelled != nullptr) options.cancelled = [given] { return given.cancelled(given.user) != 0; };
  return options;
}

}  // namespace
}  // namespace cubinet::c_api

using namespace cubinet;
using namespace cubinet::c_api;

cubinet_status cubinet_runtime_record(cubinet_runtime* runtime, int32_t on, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(runtime, "runtime"));
    if (on != 0) return runtime->session->start_recording();
    runtime->session->stop_recording();
    return {};
  });
}

cubinet_status cubinet_runtime_workload(const cubinet_runtime* runtime, cubinet_text** workload,
                                        cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(runtime, "runtime"));
    CUBINET_TRY(check_pointer(workload, "workload"));
    *workload = make_text(runtime->session->recorded().to_text());
    return {};
  });
}

cubinet_status cubinet_workload_merge(const cubinet_string* workloads, size_t count, cubinet_text** merged,
                                      cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(merged, "merged"));
    if (count != 0) CUBINET_TRY(check_list(workloads, count, "workloads"));
    Workload all;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = fmt::format("workloads[{}]", i);
      CUBINET_TRY_ASSIGN(const std::string text, text_of(workloads[i], name));
      CUBINET_TRY_ASSIGN(const Workload workload, Workload::parse(text, name));
      if (!workload.rejected().empty()) return workload.rejected().front();
      all.merge(workload);
    }
    CUBINET_TRY_ASSIGN(std::string text, all.to_stored_text());
    *merged = make_text(std::move(text));
    return {};
  });
}

cubinet_status cubinet_prepare(cubinet_runtime* runtime, const cubinet_prepare_options* options,
                               cubinet_text** json, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(runtime, "runtime"));
    CUBINET_TRY(check_pointer(json, "json"));
    CUBINET_TRY_ASSIGN(const auto given, read_structure(options, kNoPrepare, "options"));
    CUBINET_TRY_ASSIGN(const std::string text, text_of(given.workload, "options.workload"));
    CUBINET_TRY_ASSIGN(const Workload workload, Workload::parse(text));
    const auto session = runtime->session;
    CUBINET_TRY_ASSIGN(PrepareResult result, prepare(*session, workload, options_of(given)));
    std::string report = to_json(result);
    if (result.error) {
      result.error->detail = std::move(report);
      return *std::move(result.error);
    }
    *json = make_text(std::move(report));
    return {};
  });
}
