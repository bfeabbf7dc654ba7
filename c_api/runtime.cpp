// SPDX-License-Identifier: Apache-2.0
#include "handles.hpp"
#include "structures.hpp"

#include <cubinet/caller_label.hpp>
#include <cubinet/session/json.hpp>
#include <cubinet/session/store_json.hpp>

#include <fmt/format.h>

#include <optional>

namespace cubinet::c_api {
namespace {

Result<std::optional<int>> device_of(std::int32_t device) {
  if (device >= 0) return std::optional<int>(device);
  if (device == CUBINET_ALL_DEVICES) return std::optional<int>();
  return Error{ErrorCode::invalid_argument, fmt::format("`device` is {}", device),
               "pass a device's number or CUBINET_ALL_DEVICES"};
}

}  // namespace
}  // namespace cubinet::c_api

using namespace cubinet;
using namespace cubinet::c_api;

cubinet_status cubinet_runtime_create(const cubinet_config* config, cubinet_runtime** runtime,
                                      cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(config, "config"));
    CUBINET_TRY(check_pointer(runtime, "runtime"));
    CUBINET_TRY_ASSIGN(auto session, Session::open(config->options));
    *runtime = new cubinet_runtime{std::move(session)};
    return {};
  });
}

cubinet_runtime* cubinet_runtime_retain(cubinet_runtime* runtime) {
  return retain(runtime);
}

void cubinet_runtime_release(cubinet_runtime* runtime) {
  release(runtime);
}

cubinet_status cubinet_runtime_stores(const cubinet_runtime* runtime, cubinet_text** json,
                                      cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(runtime, "runtime"));
    CUBINET_TRY(check_pointer(json, "json"));
    *json = make_text(json_text(describe_stores(runtime->session->runtime())));
    return {};
  });
}

cubinet_status cubinet_runtime_counters(const cubinet_runtime* runtime, cubinet_counters* counters,
                                        cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(runtime, "runtime"));
    const Runtime::Counters counted = runtime->session->runtime().counters();
    cubinet_counters facts = CUBINET_COUNTERS_INIT;
    facts.process_hits = counted.process_hits;
    facts.memory_hits = counted.memory_hits;
    facts.registry_hits = counted.registry_hits;
    facts.bundle_hits = counted.bundle_hits;
    facts.imported_hits = counted.imported_hits;
    facts.server_hits = counted.server_hits;
    facts.compiled = counted.compiled;
    facts.misses = counted.misses;
    facts.failures = counted.failures;
    facts.bytes_loaded = counted.bytes_loaded;
    return write_structure(facts, counters, "counters");
  });
}

cubinet_status cubinet_runtime_memory(const cubinet_runtime* runtime, int32_t device, cubinet_memory* memory,
                                      cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(runtime, "runtime"));
    CUBINET_TRY_ASSIGN(const auto where, device_of(device));
    CUBINET_TRY_ASSIGN(const ModuleMemory counted, runtime->session->runtime().memory(where));
    cubinet_memory facts = CUBINET_MEMORY_INIT;
    facts.modules = counted.modules;
    facts.bytes = counted.bytes;
    facts.idle_modules = counted.idle_modules;
    facts.idle_bytes = counted.idle_bytes;
    facts.retired_modules = counted.retired_modules;
    facts.retired_bytes = counted.retired_bytes;
    return write_structure(facts, memory, "memory");
  });
}

cubinet_status cubinet_runtime_trim(cubinet_runtime* runtime, uint64_t bytes, int32_t device,
                                    uint64_t* freed_modules, uint64_t* freed_bytes, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(runtime, "runtime"));
    CUBINET_TRY_ASSIGN(const auto where, device_of(device));
    CUBINET_TRY_ASSIGN(const TrimmedModules trimmed, runtime->session->runtime().trim(bytes, where));
    if (freed_modules != nullptr) *freed_modules = trimmed.modules;
    if (freed_bytes != nullptr) *freed_bytes = trimmed.bytes;
    return {};
  });
}

cubinet_status cubinet_runtime_forget(cubinet_runtime* runtime, int32_t device, uint64_t* kernels,
                                      cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(runtime, "runtime"));
    if (device < 0)
      return Error{ErrorCode::invalid_argument, fmt::format("`device` is {}", device),
                   "pass a device's number"};
    CUBINET_TRY_ASSIGN(const std::size_t forgotten, runtime->session->runtime().forget(device));
    if (kernels != nullptr) *kernels = forgotten;
    return {};
  });
}

cubinet_status cubinet_caller_set(cubinet_string label, cubinet_text** previous, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY_ASSIGN(const std::string text, text_of(label, "label"));
    if (previous != nullptr) *previous = make_text(std::string(CallerLabel::current()));
    CallerLabel::set(text);
    return {};
  });
}
