// SPDX-License-Identifier: Apache-2.0
#include "attention_values.hpp"
#include "handles.hpp"
#include "structures.hpp"

#include <cubinet/session/prebuild.hpp>

#include <fmt/format.h>

namespace cubinet::c_api {
namespace {

constexpr cubinet_prebuild_options kNoPrebuild = CUBINET_PREBUILD_OPTIONS_INIT;

Result<DeviceRequest> request_of(const cubinet_prebuild_options& given) {
  DeviceRequest request;
  if (given.problem_count == 0) return request;
  CUBINET_TRY(check_list(given.problems, given.problem_count, "options.problems"));
  CUBINET_TRY_ASSIGN(const std::string device, text_of(given.device, "options.device"));
  CUBINET_TRY_ASSIGN(request.device, DeviceFacts::named(device, given.sm_count));
  for (std::size_t i = 0; i < given.problem_count; ++i) {
    const std::string name = fmt::format("options.problems[{}]", i);
    auto problem = any_problem_of(given.problems[i]);
    if (!problem) {
      Error error = std::move(problem).error();
      error.message = fmt::format("`{}`: {}", name, error.message);
      return error;
    }
    if (auto* shared = std::get_if<SharedPrefixProblem>(&*problem)) {
      request.problems.push_back({name, shared->own, *shared});
    } else {
      request.problems.push_back({name, std::get<AttentionProblem>(*std::move(problem))});
    }
  }
  return request;
}

Result<BundleOptions> bundle_of(const cubinet_prebuild_options& given) {
  BundleOptions bundle;
  CUBINET_TRY_ASSIGN(const std::string profile, text_of(given.profile, "options.profile"));
  CUBINET_TRY_ASSIGN(bundle.profile, parse_bundle_profile(profile.empty() ? "ship" : profile));
  CUBINET_TRY_ASSIGN(bundle.channel, text_of(given.channel, "options.channel"));
  bundle.version = given.version;
  bundle.created = given.created;
  bundle.expires = given.expires;
  return bundle;
}

void report(const cubinet_prebuild_options& given, const PrebuildProgress& progress) {
  cubinet_prebuild_progress facts = {};
  facts.struct_size = sizeof facts;
  facts.done = progress.done;
  facts.total = progress.total;
  facts.kernel = to_c(progress.kernel);
  facts.outcome = to_c(progress.outcome);
  facts.seconds = progress.seconds;
  facts.bytes = progress.bytes;
  given.progress(given.user, &facts);
}

Result<PrebuildOptions> options_of(const cubinet_prebuild_options& given) {
  PrebuildOptions options;
  CUBINET_TRY_ASSIGN(options.output, text_of(given.output, "options.output"));
  if (options.output.empty()) {
    return Error{ErrorCode::invalid_argument, "`options.output` is empty", "name the bundle to write"};
  }
  CUBINET_TRY_ASSIGN(std::string matrix, text_of(given.matrix, "options.matrix"));
  if (!matrix.empty()) options.matrix = std::move(matrix);
  CUBINET_TRY_ASSIGN(options.request, request_of(given));
  CUBINET_TRY_ASSIGN(options.bundle, bundle_of(given));
  CUBINET_TRY_ASSIGN(const std::string workload, text_of(given.workload, "options.workload"));
  if (!workload.empty()) {
    CUBINET_TRY_ASSIGN(options.workload, Workload::parse(workload));
  }
  options.jobs = given.jobs;
  if (given.progress != nullptr) {
    options.progress = [given](const PrebuildProgress& progress) { report(given, progress); };
  }
  if (given.cancelled != nullptr) options.cancelled = [given] { return given.cancelled(given.user) != 0; };
  return options;
}

// Returns the error of a run that did not put every kernel into the bundle.
std::optional<Error> failure_of(const PrebuildResult& result) {
  if (result.error) return result.error;
  if (result.interrupted)
    return Error{ErrorCode::unavailable, "the prebuild was cancelled", "run it again to continue"};
  if (result.unserved.empty()) return std::nullopt;
  const UnservedProblem& first = result.unserved.front();
  return Error{ErrorCode::unsupported, fmt::format("no kernel serves {} of the problems; {}: {}",
                                                   result.unserved.size(), first.text, first.reason)};
}

}  // namespace
}  // namespace cubinet::c_api

using namespace cubinet;
using namespace cubinet::c_api;

cubinet_status cubinet_prebuild(const cubinet_config* config, const cubinet_prebuild_options* options,
                                cubinet_text** json, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(config, "config"));
    CUBINET_TRY(check_pointer(json, "json"));
    CUBINET_TRY_ASSIGN(const auto given, read_structure(options, kNoPrebuild, "options"));
    CUBINET_TRY_ASSIGN(const PrebuildOptions wanted, options_of(given));
    const SessionOptions session = config->options;  // the caller may change it meanwhile
    CUBINET_TRY_ASSIGN(const PrebuildResult result, prebuild(session, wanted));
    std::string report = to_json(result);
    if (auto failed = failure_of(result)) {
      failed->detail = std::move(report);
      return *std::move(failed);
    }
    *json = make_text(std::move(report));
    return {};
  });
}
