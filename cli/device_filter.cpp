// SPDX-License-Identifier: Apache-2.0
#include "device_filter.hpp"

#include "arguments.hpp"
#include "option_lines.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/session/checked_shared_prefix.hpp>
#include <cubinet/session/error_place.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

Result<DeviceRequest::Problem> parse_problem(const OptionLine& line) {
  AttentionArguments arguments;
  CLI::App options;
  add_operation_argument(options, arguments);
  add_attention_arguments(options, arguments);
  CUBINET_TRY(parse_options(options, line));
  const auto problem = attention_problem_of(arguments);
  if (!problem) return with_place(problem.error(), line.where);
  DeviceRequest::Problem made{line.text(), *problem};
  CUBINET_TRY_ASSIGN(const auto shared, shared_prefix_of(arguments, *problem));
  if (!shared) return made;
  made.shared_prefix = without_lengths(*shared);
  made.problem = shared->own;
  return made;
}

}  // namespace

void add_device_filter(CLI::App& verb, DeviceFilter& filter) {
  CLI::Option* device = add_text(verb, "--device", filter.device.device, "DEVICE",
                                 "Only kernels that this device (sm_103 or 10.3) can use");
  CLI::Option* problems =
      add_text(verb, "--problems", filter.problems, "FILE",
               "Only those that it needs for the problems in this file, one a line in the options of "
               "`select attention`")
          ->needs(device);
  add_sm_count(verb, filter.device)->needs(problems);
}

void add_built_problems(CLI::App& verb, DeviceFilter& filter) {
  CLI::Option* device = add_text(verb, "--device", filter.device.device, "DEVICE",
                                 "The device of --problems (sm_103 or 10.3); need not be here");
  CLI::Option* problems =
      add_text(verb, "--problems", filter.problems, "FILE",
               "The kernels that a device needs for the problems in this file, one a line in the options of "
               "`select attention`")
          ->needs(device);
  device->needs(problems);
  add_sm_count(verb, filter.device)->needs(problems);
}

Result<DeviceRequest> device_request_of(const Context& context, const DeviceFilter& filter) {
  DeviceRequest request;
  if (filter.problems.empty()) {
    CUBINET_TRY_ASSIGN(request.device.capability, ComputeCapability::parse_known(filter.device.device));
    return request;
  }
  CUBINET_TRY_ASSIGN(request.device, device_facts_of(filter.device));
  CUBINET_TRY_ASSIGN(const Bytes text, context.files()->read(filter.problems, kMaximumOptionFile));
  CUBINET_TRY_ASSIGN(const std::vector<OptionLine> lines, parse_option_lines(as_text(text), filter.problems));
  for (const OptionLine& line : lines) {
    CUBINET_TRY_ASSIGN(request.problems.emplace_back(), parse_problem(line));
  }
  return request;
}

std::string unserved_text(const std::vector<UnservedProblem>& unserved) {
  std::string text;
  for (const auto& [problem, reason] : unserved)
    text += fmt::format("\nnot served: {}: {}", printable(problem), printable(reason));
  return text;
}

}  // namespace cubinet::cli
