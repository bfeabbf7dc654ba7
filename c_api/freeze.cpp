// SPDX-License-Identifier: Apache-2.0
#include "handles.hpp"
#include "structures.hpp"

#include <cubinet/session/refusals_json.hpp>

namespace cubinet::c_api {
namespace {

constexpr cubinet_freeze_options kDefaultFreeze = CUBINET_FREEZE_OPTIONS_INIT;

Result<FreezeOptions> freeze_options(const cubinet_freeze_options* options) {
  FreezeOptions result;
  if (options == nullptr) return result;
  CUBINET_TRY_ASSIGN(const auto given, read_structure(options, kDefaultFreeze, "options"));
  CUBINET_TRY(check_list(given.kernels, given.fallback_count, "options.kernels"));
  CUBINET_TRY(check_list(given.substitutes, given.fallback_count, "options.substitutes"));
  for (std::size_t i = 0; i < given.fallback_count; ++i) {
    CUBINET_TRY(check_pointer(given.kernels[i], "options.kernels"));
    CUBINET_TRY(check_pointer(given.substitutes[i], "options.substitutes"));
    result.fallbacks.push_back({given.kernels[i]->kernel, given.substitutes[i]->kernel});
  }
  return result;
}

}  // namespace
}  // namespace cubinet::c_api

using namespace cubinet;
using namespace cubinet::c_api;

cubinet_status cubinet_runtime_freeze(cubinet_runtime* runtime, const cubinet_freeze_options* options,
                                      cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(runtime, "runtime"));
    CUBINET_TRY_ASSIGN(const FreezeOptions given, freeze_options(options));
    return runtime->session->runtime().freeze(given);
  });
}

cubinet_status cubinet_runtime_thaw(cubinet_runtime* runtime, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(runtime, "runtime"));
    return runtime->session->runtime().thaw();
  });
}

cubinet_status cubinet_runtime_refusals(const cubinet_runtime* runtime, cubinet_text** json,
                                        cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(runtime, "runtime"));
    CUBINET_TRY(check_pointer(json, "json"));
    CUBINET_TRY_ASSIGN(const Refusals refusals, runtime->session->runtime().refusals());
    *json = make_text(to_json(refusals));
    return {};
  });
}
