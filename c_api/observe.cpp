// SPDX-License-Identifier: Apache-2.0
#include "handles.hpp"
#include "structures.hpp"

#include <cubinet/session/journal.hpp>
#include <cubinet/session/metrics.hpp>

#include <fmt/format.h>

using namespace cubinet;
using namespace cubinet::c_api;

cubinet_status cubinet_runtime_metrics(const cubinet_runtime* runtime, cubinet_text** json,
                                       cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(runtime, "runtime"));
    CUBINET_TRY(check_pointer(json, "json"));
    CUBINET_TRY_ASSIGN(const Metrics metrics, Metrics::of(*runtime->session));
    *json = make_text(to_json(metrics));
    return {};
  });
}

cubinet_status cubinet_runtime_prometheus(const cubinet_runtime* runtime, const cubinet_label* labels,
                                          size_t count, cubinet_text** text, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(runtime, "runtime"));
    CUBINET_TRY(check_pointer(text, "text"));
    CUBINET_TRY(check_list(labels, count, "labels"));
    std::vector<MetricLabel> given;
    for (std::size_t i = 0; i < count; ++i) {
      MetricLabel& label = given.emplace_back();
      CUBINET_TRY_ASSIGN(label.name, text_of(labels[i].name, fmt::format("labels[{}].name", i)));
      CUBINET_TRY_ASSIGN(label.value, text_of(labels[i].value, fmt::format("labels[{}].value", i)));
    }
    CUBINET_TRY_ASSIGN(const Metrics metrics, Metrics::of(*runtime->session));
    CUBINET_TRY_ASSIGN(std::string written, to_prometheus(metrics, given));
    *text = make_text(std::move(written));
    return {};
  });
}

cubinet_status cubinet_runtime_journal(const cubinet_runtime* runtime, cubinet_string since,
                                       cubinet_string kernel, cubinet_text** json, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(runtime, "runtime"));
    CUBINET_TRY(check_pointer(json, "json"));
    JournalQuery query;
    CUBINET_TRY_ASSIGN(query.since, text_of(since, "since"));
    CUBINET_TRY_ASSIGN(query.kernel, text_of(kernel, "kernel"));
    const auto& home = runtime->session->home();
    if (home == nullptr)
      return Error{ErrorCode::unavailable, "the runtime has no home, so it has no journal",
                   "set the option `home` of the configuration"};
    CUBINET_TRY_ASSIGN(const JournalReport report, read_journal(*home, query));
    *json = make_text(to_json(report));
    return {};
  });
}
