// SPDX-License-Identifier: Apache-2.0
#include "target_options.hpp"

#include "arguments.hpp"

namespace cubinet::cli {

void add_target_options(CLI::App& verb, TargetOptions& options) {
  verb.add_option("--prefer", options.prefer, "family: take family code before specific code")
      ->check(CLI::IsMember({"family"}))
      ->type_name("KIND");
  add_list(verb, "--forbid", options.forbid, "TARGET", "never take this target; may be repeated");
  add_text(verb, "--pin", options.pin, "TARGET", "take this target and no other");
}

Result<TargetPolicy> parse_target_policy(const TargetOptions& options) {
  TargetPolicy policy;
  policy.prefers_family = options.prefer == "family";
  CUBINET_TRY_ASSIGN(policy.forbidden, parse_targets(options.forbid));
  if (!options.pin.empty()) {
    CUBINET_TRY_ASSIGN(policy.pinned, SmTarget::parse(options.pin));
  }
  CUBINET_TRY(check(policy));
  return policy;
}

}  // namespace cubinet::cli
